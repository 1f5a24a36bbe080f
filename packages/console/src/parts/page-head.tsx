import { type ReactNode, useEffect } from "react";
import { Data } from "./tables/data.tsx";
import { visibleText } from "./visible-text.ts";

export function PageHead({
  title,
  about,
  children,
}: {
  readonly title: string;
  readonly about?: ReactNode;
  readonly children?: ReactNode;
}) {
  useEffect(() => {
    document.title = `${visibleText(title)} · Countersign`;
  }, [title]);
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
