import { type ReactNode, useLayoutEffect, useRef } from "react";
import { Wide } from "./scrolls.tsx";

/**
 * `numbers`: the last columns with numbers. `actions`: one more column, for buttons. `caption`: needed by a table
 * without focusable content, so that the keyboard can scroll it.
 */
export function ListTable({
  heads,
  numbers = 0,
  actions = false,
  caption,
  opens = false,
  children,
}: {
  readonly heads: readonly string[];
  readonly numbers?: number;
  readonly actions?: boolean;
  readonly caption?: string;
  /** A click anywhere on a row follows the link in its first cell. */
  readonly opens?: boolean;
  readonly children: ReactNode;
}) {
  const place = useRef<HTMLTableElement>(null);
  // On a narrow screen each row is a card, in which every cell names its column.
  useLayoutEffect(() => {
    for (const row of place.current?.tBodies[0]?.rows ?? [])
      for (const cell of row.cells) cell.dataset["column"] = heads[cell.cellIndex] ?? "";
  });
  const table = (
    <table className={opens ? "list opens" : "list cards"} ref={place}>
      {caption !== undefined && <caption className="sr">{caption}</caption>}
      <thead>
        <tr>
          {heads.map((head, at) => (
            <th key={head} scope="col" className={at < heads.length - numbers ? undefined : "num"}>
              {head}
            </th>
          ))}
          {actions && (
            <th scope="col">
              <span className="sr">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
  return caption === undefined ? <div className="scroll">{table}</div> : <Wide label={caption}>{table}</Wide>;
}
