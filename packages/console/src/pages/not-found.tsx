/** The page of every address that has none. */
import { Link } from "@tanstack/react-router";
import { PageHead } from "../parts/page-head.tsx";

export function NotFoundPage() {
  return (
    <>
      <PageHead
        title="There is no such page"
        about="The address may be mistyped, or the page has moved. The menu shows what there is."
      />
      <p>
        <Link to="/">To the overview</Link>
      </p>
    </>
  );
}
