/** The frame of pages for somebody who is not signed in, and what their forms share. */
import type { ReactNode } from "react";
import { adviceOn } from "../api/advice.ts";
import { PageHead } from "../parts/page-head.tsx";
import { ConnectionBanner, Mark } from "../shell/mark.tsx";

export function Outside({
  title,
  about,
  children,
}: {
  readonly title: string;
  readonly about?: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <div className="alone">
      <main className="stack">
        <ConnectionBanner />
        <div className="brand">
          <Mark /> Countersign
        </div>
        <PageHead title={title} about={about} />
        {children}
      </main>
    </div>
  );
}

/** What the service said to a form, next to it. */
export function FormError({ error }: { readonly error: unknown }) {
  if (error === null || error === undefined) return null;
  const { title, todo } = adviceOn(error);
  return (
    <div className="banner bad" role="alert">
      <div>
        <strong>{title}</strong>
        {todo}
      </div>
    </div>
  );
}
