import { useEffect } from "react";
import { ExactTime } from "../time.tsx";

/** Continues a search by itself until the page has rows, for some requests. */
export function useGoOn(list: {
  readonly rows: readonly unknown[];
  readonly searched_to: string | undefined;
  readonly isFetching: boolean;
  readonly fetchNextPage: () => Promise<unknown>;
  readonly data: { readonly pages: readonly unknown[] } | undefined;
}): void {
  const pages = list.data?.pages.length ?? 0;
  const goes_on =
    list.searched_to !== undefined && list.rows.length < rows_wanted && pages < requests_max && !list.isFetching;
  const { fetchNextPage } = list;
  useEffect(() => {
    if (goes_on) void fetchNextPage();
  }, [goes_on, fetchNextPage]);
}

const rows_wanted = 20;
/** As many requests read 400,000 decisions, or 200,000 entries of the audit trail. */
const requests_max = 10;

/** Says how far a search has looked; nothing if it is complete. */
export function SearchedTo({
  list: { searched_to, isFetching },
}: {
  readonly list: { readonly searched_to: string | undefined; readonly isFetching: boolean };
}) {
  if (searched_to === undefined) return null;
  return (
    <>
      {`. ${isFetching ? "Searching, so far" : "Searched"} back to `}
      <ExactTime at={searched_to} />
    </>
  );
}
