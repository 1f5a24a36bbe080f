/** A list that is read page by page. Only what was asked for is in the document, so 100,000 rows cost what 50 do. */
import { useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Failed, Loading } from "./states.tsx";

interface PageOf<T> {
  readonly rows: readonly T[];
  readonly next_cursor: string | null;
}

/** Reads a list; `read` gives one page. */
export function usePaged<T>(
  queryKey: readonly unknown[],
  read: (cursor: string | undefined) => Promise<PageOf<T>>,
  options: { readonly refetchInterval?: number; readonly enabled?: boolean } = {},
) {
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    ...options,
  });
  return { ...query, rows: query.data?.pages.flatMap((page) => page.rows) ?? [] };
}

/** The list, or why there is none; below it the way to more. */
export function Paged<T>({
  list,
  what,
  empty,
  children,
}: {
  readonly list: ReturnType<typeof usePaged<T>>;
  readonly what: string;
  readonly empty: ReactNode;
  readonly children: (rows: readonly T[]) => ReactNode;
}) {
  if (list.data === undefined) {
    return list.error === null ? (
      <Loading what={what} />
    ) : (
      <Failed error={list.error} retry={() => void list.refetch()} />
    );
  }
  if (list.rows.length === 0) return empty;
  return (
    <>
      {children(list.rows)}
      <div className="row between small muted">
        <span aria-live="polite">{`${list.rows.length} shown${list.hasNextPage ? "" : ", all"}`}</span>
        {list.hasNextPage && (
          <button
            type="button"
            className="button small"
            disabled={list.isFetchingNextPage}
            onClick={() => void list.fetchNextPage()}
          >
            {list.isFetchingNextPage ? "Loading …" : `More ${what}`}
          </button>
        )}
      </div>
      {list.isFetchNextPageError && <Failed error={list.error} retry={() => void list.fetchNextPage()} />}
    </>
  );
}
