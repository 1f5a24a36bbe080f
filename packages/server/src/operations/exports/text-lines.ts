import type { ExportEncoder } from "./export-encoder.ts";

const nothing = new Uint8Array();

/** Writes each row's own text, one a line. */
export const textLines: ExportEncoder<{ readonly text: string }> = {
  head: () => nothing,
  rows: (page) => Buffer.from(page.map(({ text }) => `${text}\n`).join(""), "utf8"),
  tail: () => nothing,
};
