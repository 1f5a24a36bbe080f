import { type ReactNode, useEffect } from "react";
import { Data } from "./tables/data.tsx";
import { visibleText } from "./visible-text.ts";

export function PageHead({
  title,
  about,
  count,
  children,
}: {
  readonly title: string;
  readonly about?: ReactNode;
  /** A number for the title of the tab, such as `25` or `100+`. */
  readonly count?: string | undefined;
  readonly children?: ReactNode;
}) {
  useEffect(() => {
    document.title = `${count === undefined ? "" : `(${count}) `}${visibleText(title)} · Countersign`;
  }, [title, count]);
  return (
    <header className="page-head">
      <div className="title">
        <h1>
          <Data text={title} />
        </h1>
        {about !== undefined && <p className="muted">{about}</p>}
      </div>
      {children !== undefined && <div className="row">{children}</div>}
    </header>
  );
}
