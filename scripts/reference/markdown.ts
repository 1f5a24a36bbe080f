/** Escapes pipes and line breaks in cells. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll(/\s*\n\s*/g, " ");
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

export function generatedPage(title: string, source: string, ...blocks: readonly string[]): string {
  const notice = `<!-- Written by \`npm run gen\` from ${source}. Change that, not this file. -->`;
  return `${[`# ${title}`, notice, ...blocks.filter((block) => block !== "")].join("\n\n")}\n`;
}

/** Escapes `<` and `{{`, except in backticks. */
export function proseText(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith("`") ? part : part.replaceAll("<", "&lt;").replaceAll("{{", "&#123;&#123;")))
    .join("")
    .trim();
}
