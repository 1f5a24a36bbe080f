/** A list read page by page. The document holds one page at a time, so 100,000 rows cost the same as 50. */
import { type InfiniteData, useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode, useRef } from "react";
import { Failed, Loading } from "../states.tsx";

interface PageOf<T> {
  readonly rows: readonly T[];
  readonly next_cursor: string | null;
  /** A search that stopped early read all rows after this time. */
  readonly searched_to?: string | undefined;
}

/** A page and the previous one, because the API's cursors lead only forward. */
interface Place {
  readonly cursor: string | undefined;
  readonly number: number;
  readonly before: Place | null;
}

interface PagedOptions {
  readonly refetchInterval?: number;
  readonly enabled?: boolean;
  /** Appends further pages, for lists viewed as a whole. */
  readonly joins?: boolean;
}

export function usePaged<T>(
  queryKey: readonly unknown[],
  read: (cursor: string | undefined) => Promise<PageOf<T>>,
  { joins = false, ...options }: PagedOptions = {},
) {
  const first: Place = { cursor: undefined, number: 1, before: null };
  const query = useInfiniteQuery<PageOf<T>, Error, InfiniteData<PageOf<T>, Place>, readonly unknown[], Place>({
    queryKey,
    queryFn: ({ pageParam }) => read(pageParam.cursor),
    initialPageParam: first,
    getNextPageParam: ({ next_cursor }, _, place): Place | undefined =>
      next_cursor === null ? undefined : { cursor: next_cursor, number: place.number + 1, before: place },
    ...(joins ? {} : { getPreviousPageParam: (_page, _pages, place): Place | undefined => place.before ?? undefined }),
    ...(joins ? {} : { maxPages: 1 }),
    ...options,
  });
  return {
    ...query,
    joins,
    rows: query.data?.pages.flatMap((page) => page.rows) ?? [],
    page_number: query.data?.pageParams[0]?.number ?? 1,
    searched_to: query.data?.pages.at(-1)?.searched_to,
  };
}

type List<T> = ReturnType<typeof usePaged<T>>;

export function Paged<T>({
  list,
  what,
  empty,
  note,
  children,
}: {
  readonly list: List<T>;
  readonly what: string;
  readonly empty: ReactNode;
  /** Shown beside the number of rows, for a list that goes on although a page is empty. */
  readonly note?: ReactNode;
  readonly children: (rows: readonly T[]) => ReactNode;
}) {
  const top = useRef<HTMLDivElement>(null);
  if (list.data === undefined) {
    return list.error === null ? (
      <Loading what={what} />
    ) : (
      <Failed error={list.error} retry={() => void list.refetch()} />
    );
  }
  const none = list.rows.length === 0 && !list.hasPreviousPage;
  const turn = (turned: Promise<unknown>) => void turned.then(() => top.current?.scrollIntoView({ block: "nearest" }));
  return (
    <>
      <div ref={top} className="page-top" />
      {none ? empty : children(list.rows)}
      {/* The element stays for "none", because a screen reader does not announce new places. */}
      <div className={none && !list.hasNextPage ? "sr" : "page-foot row between small muted"}>
        <span aria-live="polite">
          {none ? `No ${what}` : shownText(list)}
          {note}
        </span>
        <span className="row">
          {list.hasPreviousPage && (
            <button
              type="button"
              className="button small"
              disabled={list.isFetching}
              onClick={() => turn(list.fetchPreviousPage())}
            >
              Back
            </button>
          )}
          {list.hasNextPage && (
            <button
              type="button"
              className="button small"
              disabled={list.joins ? list.isFetchingNextPage : list.isFetching}
              onClick={() => (list.joins ? void list.fetchNextPage() : turn(list.fetchNextPage()))}
            >
              {list.isFetchingNextPage ? "Loading …" : `More ${what}`}
            </button>
          )}
        </span>
      </div>
      {(list.isFetchNextPageError || list.isFetchPreviousPageError) && (
        <Failed error={list.error} retry={() => void list.refetch()} />
      )}
    </>
  );
}

function shownText<T>({ rows, joins, hasNextPage, hasPreviousPage, page_number }: List<T>): string {
  if (joins || (!hasNextPage && !hasPreviousPage)) return `${rows.length} shown${hasNextPage ? "" : ", all"}`;
  return `page ${page_number}: ${rows.length} shown${hasNextPage ? "" : ", the last"}`;
}
