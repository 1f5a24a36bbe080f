import { limits } from "@countersign/contract";
import { generatedPage, table } from "./markdown.ts";

export function limitsPage(): string {
  const rows = Object.entries(limits).map(([name, value]) => [`\`${name}\``, Number(value).toLocaleString("en-US")]);
  return generatedPage(
    "Limits",
    "packages/contract/src/limits.ts",
    "For programs that send much or large data. The unit is the last part of a name; `_max` and `_min` are bounds that are still allowed. " +
      "[Rate limits](rate-limits.md) are on a page of their own. Example: `batch_intents_max` intents fit in one batch.",
    table(["limit", "value"], rows),
  );
}
