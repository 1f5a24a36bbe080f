import type { AttentionItem } from "@countersign/contract";
import { Link } from "@tanstack/react-router";

/** Returns the filter of the queue that shows the reviews of a cause. Empty: other causes. */
export function reviewsOf({ kind, what }: AttentionItem): Readonly<Record<string, string>> {
  if (kind === "missing_fact") return { missing_fact: what };
  if (kind === "uncovered_tool") return { tool: what, uncovered: "true" };
  return kind === "no_reviewers" ? { rule: what } : {};
}

/** Links to the reviews that wait for this cause. */
export function SharedReviews({ item }: { readonly item: AttentionItem }) {
  const search = reviewsOf(item);
  if (Object.keys(search).length === 0 || !item.count) return null;
  return (
    <Link to="/review" search={search as never}>
      Show them
    </Link>
  );
}
