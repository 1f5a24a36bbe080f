import { Link } from "@tanstack/react-router";
import { PageHead } from "../parts/page-head.tsx";

export function NotFoundPage() {
  return (
    <>
      <PageHead
        title="There is no such page"
        about="The address may be mistyped, or the page has moved. Use the menu."
      />
      <p>
        <Link to="/" className="button primary">
          To the overview
        </Link>
      </p>
    </>
  );
}
