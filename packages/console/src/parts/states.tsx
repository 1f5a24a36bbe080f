import { ApiError } from "@countersign/sdk";
import type { ReactNode } from "react";
import { adviceOn } from "../api/advice.ts";

export function Loading({ what }: { readonly what: string }) {
  return (
    <div className="skeleton" role="status">
      <span aria-hidden="true" />
      <span aria-hidden="true" />
      <span aria-hidden="true" />
      <p className="sr">{`Loading ${what} …`}</p>
    </div>
  );
}

/** An empty list: what would be here, and the one action that fills it. */
export function Empty({
  title,
  action,
  children,
}: {
  readonly title: string;
  /** A button, or a link with its look. */
  readonly action?: ReactNode;
  readonly children?: ReactNode;
}) {
  return (
    <div className="state">
      <h2>{title}</h2>
      {children}
      {action}
    </div>
  );
}

export function Failed({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  const { title, todo, request_id } = adviceOn(error);
  // Retrying does not help for data that does not exist.
  const again = error instanceof ApiError && error.code === "not_found" ? undefined : retry;
  return (
    <div className="state" role="alert">
      <h2>{title}</h2>
      <p>{todo}</p>
      {request_id !== null && <p className="small mono">{`request ${request_id}`}</p>}
      {again !== undefined && (
        <button type="button" className="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Loaded<T>({
  query,
  what,
  children,
}: {
  readonly query: { readonly data: T | undefined; readonly error: unknown; readonly refetch: () => unknown };
  readonly what: string;
  readonly children: (data: T) => ReactNode;
}) {
  if (query.data !== undefined) return children(query.data);
  if (query.error !== null && query.error !== undefined)
    return <Failed error={query.error} retry={() => void query.refetch()} />;
  return <Loading what={what} />;
}
