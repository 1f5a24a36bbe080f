import type { JsonObject } from "../protocol/messages.ts";
import { type KnownTool, toolsIn } from "./known-tools.ts";

/** Pages read of one list. */
const pages_max = 1_000;

/**
 * The server's tools. The proxy lists them before the first call, after `notifications/tools/list_changed`, and for
 * each call of an unlisted tool.
 */
export class ToolList {
  readonly #ask: (params: JsonObject) => Promise<JsonObject>;
  readonly #see: (result: JsonObject) => void;
  #tools = new Map<string, KnownTool>();
  /** Counts changes of the server's list. */
  #changes = 0;
  #listing: Promise<void> | null = null;

  /** `ask` sends the server a `tools/list` request and resolves to its result. `see` gets the result of each list. */
  constructor(ask: (params: JsonObject) => Promise<JsonObject>, see: (result: JsonObject) => void) {
    this.#ask = ask;
    this.#see = see;
  }

  get(name: string): KnownTool | undefined {
    return this.#tools.get(name);
  }

  /** Takes the result of the client's own request. Without a cursor the list begins again. */
  learn(result: JsonObject, cursor: JsonObject[string] | undefined): void {
    this.#see(result);
    this.#tools = new Map([...(cursor === undefined ? [] : this.#tools), ...toolsIn(result)]);
  }

  changed(): void {
    this.#changes += 1;
    this.#tools.clear();
  }

  /**
   * Lists the tools, or waits for a running listing. `meta` is the `_meta` of its requests. Rejects if the server
   * fails.
   */
  list(meta: JsonObject): Promise<void> {
    this.#listing ??= this.#listAll(meta).finally(() => {
      this.#listing = null;
    });
    return this.#listing;
  }

  async #listAll(meta: JsonObject): Promise<void> {
    const _meta = Object.keys(meta).length === 0 ? {} : { _meta: meta };
    for (let pages = 0, tools = new Map<string, KnownTool>(), cursor: JsonObject[string]; ; pages += 1) {
      if (pages === pages_max) throw new Error(`its list of tools has more than ${pages_max} pages`);
      const changes = this.#changes;
      const result = await this.#ask({ ..._meta, ...(cursor !== undefined && { cursor }) });
      this.#see(result);
      tools = new Map([...tools, ...toolsIn(result)]);
      cursor = typeof result["nextCursor"] === "string" ? result["nextCursor"] : undefined;
      if (changes !== this.#changes) [tools, cursor] = [new Map(), undefined];
      else if (cursor === undefined) {
        this.#tools = tools;
        return;
      }
    }
  }
}
