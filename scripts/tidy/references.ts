/** Finds references in comments to pages, sections and decisions that this repository does not have. */
import { posix } from "node:path";
import { type Passage, passagesOf } from "./prose.ts";
import type { Finding } from "./tidy.ts";

/** Everything that comments can refer to. */
export interface Places {
  /** Paths of all Markdown files, from the root of the repository. */
  readonly pages: ReadonlySet<string>;
  /** Sections and rules of docs/reference/specification.md, as "2.9" and "2.9 rule 2". */
  readonly sections: ReadonlySet<string>;
}

const specification = "docs/reference/specification.md";
/** One citation with all its sections: `spec §2.5–2.7 and §6 rule 3`. */
const citation = /\bspec ((?:(?:, | and )?§[\d.]*\d(?:[–-]\d[\d.]*\d|[–-]\d)?(?: rules? \d+)?)+)/g;
const page = /(?<![\w/:.*…-])[\w./-]*\w\.md\b/g;
const decision = /\bdecisions? (00\d\d)\b/g;

/** Returns the places of a repository, given all its Markdown files. */
export function placesOf(documents: readonly { readonly path: string; readonly source: string }[]): Places {
  const sections = new Set<string>();
  let section = "";
  const text = documents.find(({ path }) => path === specification)?.source ?? "";
  for (const [, anchor, rule] of text.matchAll(/^(?:<a id="s([\d-]+)"><\/a>$|(\d+)\. )/gm)) {
    if (anchor !== undefined) section = anchor.replace("-", ".");
    sections.add(rule === undefined ? section : `${section} rule ${rule}`);
  }
  return { pages: new Set(documents.map(({ path }) => path)), sections };
}

/** Returns the references of one source file that lead nowhere. */
export function referenceFindings(path: string, source: string, places: Places): Finding[] {
  const comments = passagesOf(path, source).filter(({ kind }) => kind === "comment");
  return comments.flatMap((comment) =>
    [...missingSections(comment, places), ...missingPages(path, comment, places)].map(({ at, message }) => ({
      path,
      line: source.slice(0, comment.start + at).split("\n").length,
      rule: "reference",
      message,
    })),
  );
}

interface Missing {
  readonly at: number;
  readonly message: string;
}

function missingSections({ text }: Passage, { sections }: Places): Missing[] {
  return [...text.matchAll(citation)].flatMap(({ index, 1: cited = "" }) =>
    [...cited.matchAll(/(\d+(?:\.\d+)?)(?: rules? (\d+))?/g)].flatMap(([, section, rule]) => {
      const place = rule === undefined ? `${section}` : `${section} rule ${rule}`;
      return sections.has(place) ? [] : [{ at: index, message: `${specification} has no section ${place}` }];
    }),
  );
}

function missingPages(path: string, { text }: Passage, { pages }: Places): Missing[] {
  const exists = (name: string): boolean =>
    [name, posix.join(posix.dirname(path), name)].some((candidate) => pages.has(candidate));
  const named = [...text.matchAll(page)].flatMap(({ index, 0: name }) =>
    exists(name) ? [] : [{ at: index, message: `${name} is not in this repository: say what is meant` }],
  );
  const numbered = [...text.matchAll(decision)].flatMap(({ index, 1: number }) =>
    [...pages].some((name) => name.startsWith(`docs/decisions/${number}-`))
      ? []
      : [{ at: index, message: `decision ${number} is not in docs/decisions` }],
  );
  return [...named, ...numbered];
}
