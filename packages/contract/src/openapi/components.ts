import type { TSchema } from "typebox";
import { name_pattern } from "../names.ts";
import { AccessEvaluation, BatchItem, ContextDocument } from "../resources/index.ts";

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** Schemas that the operation checks itself (`checkedLater`), by title. */
const checkedLaterSchemas = new Map<string, TSchema>([
  ["AccessEvaluation", AccessEvaluation],
  ["ContextDocument", ContextDocument],
  ["BatchItem", BatchItem],
]);

/** Collects the parts that operations share, so that the document has each once. */
export class Components {
  readonly #placed = new Map<string, Json>();
  readonly #responses = new Map<string, Json>();

  /**
   * Returns the schema as JSON, with a `$ref` for every titled part. Throws if two different schemas have one title.
   */
  place(schema: TSchema): Json {
    // Drops TypeBox's hidden marks.
    return this.#replaceTitled(JSON.parse(JSON.stringify(schema)) as Json);
  }

  response(name: string, content: () => Json): Json {
    if (!this.#responses.has(name)) this.#responses.set(name, content());
    return { $ref: `#/components/responses/${name}` };
  }

  schemas(): Json {
    return sorted(this.#placed);
  }

  responses(): Json {
    return sorted(this.#responses);
  }

  #replaceTitled(value: Json): Json {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => this.#replaceTitled(item));
    const { title, ...rest } = value as { readonly [key: string]: Json };
    // Generated clients may not support \p{…}. The descriptions explain the pattern.
    const shown = Object.entries(rest).filter(([key, item]) => key !== "pattern" || item !== name_pattern);
    const inner = Object.fromEntries(shown.map(([key, item]) => [key, this.#replaceTitled(item)]));
    if (typeof title !== "string") return title === undefined ? inner : { ...inner, title: this.#replaceTitled(title) };
    return this.#reference(title, inner);
  }

  #reference(title: string, schema: { readonly [key: string]: Json }): Json {
    const reference = { $ref: `#/components/schemas/${title}` };
    const known = this.#placed.get(title);
    if (Object.keys(schema).length > 0) {
      if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
        throw new Error(`two different schemas are titled ${title}`);
      }
      this.#placed.set(title, schema);
    } else if (known === undefined) {
      const full = checkedLaterSchemas.get(title);
      if (full === undefined) throw new Error(`no schema is titled ${title}`);
      this.place(full);
    }
    return reference;
  }
}

function sorted(byName: ReadonlyMap<string, Json>): Json {
  return Object.fromEntries([...byName].sort(([a], [b]) => (a < b ? -1 : 1)));
}
