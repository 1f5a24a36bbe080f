import { rateCategories } from "../limits.ts";

export function rateTable(): string {
  const rows = Object.entries(rateCategories).map(([name, { requests_max, applies_to, counted_by }]) => {
    const holder = counted_by === "ip" ? "client address" : "API key, else signed-in person, else client address";
    return `| \`${name}\` | ${requests_max} | ${applies_to} | ${holder} |`;
  });
  return ["| category | requests | applies to | counted for each |", "| --- | --- | --- | --- |", ...rows].join("\n");
}
