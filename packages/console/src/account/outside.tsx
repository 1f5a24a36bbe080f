/** The frame of pages for signed-out visitors. */
import { ApiError } from "@countersign/sdk";
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

export const wrong_code = "A code works once, within 30 seconds. A recovery code must be unused.";

export function asksForPassword(error: unknown): boolean {
  return error instanceof ApiError && error.details.some(({ code }) => code === "session_too_old");
}

/** `wrong` says what to check after invalid input. */
export function FormError({ error, wrong }: { readonly error: unknown; readonly wrong?: string }) {
  if (error === null || error === undefined) return null;
  const { title, todo: advice } = adviceOn(error);
  const unexplained = error instanceof ApiError && error.code === "invalid_credentials" && error.details.length === 0;
  const todo = wrong !== undefined && unexplained ? wrong : advice;
  return (
    <div className="banner bad" role="alert">
      <div>
        <strong>{title}</strong>
        {todo}
      </div>
    </div>
  );
}
