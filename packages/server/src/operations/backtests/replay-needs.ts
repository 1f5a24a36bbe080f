import type { BacktestProgress } from "@countersign/contract";
import type { PackRules, TallyCounts } from "@countersign/core";
import type { Query } from "../../ports.ts";

export interface Turn {
  readonly before: string | null;
  readonly left: number;
  /** Maximum of rows in the next page. Large documents need smaller pages. */
  readonly rows_max: number;
}

/** Rows of a first page. */
export const first_page_rows = 100;

export function firstTurn(limit: number): Turn {
  return { before: null, left: limit, rows_max: first_page_rows };
}

export interface ReplayedPart {
  readonly counts: TallyCounts;
  /** Decision time of its oldest intent, in microseconds; null: it had none. */
  readonly oldest_us: number | null;
  readonly cut: boolean;
}

export interface ReplayNeeds {
  read<T>(work: (query: Query) => Promise<T>): Promise<T>;
  readonly packs: PackRules;
  turn(): Promise<Turn>;
  pass(turn: Turn): void;
  /** Called after every `breath_rows` intents. Awaited, so that the thread can receive cancellations and data. */
  progress(evaluated: number, done: BacktestProgress["done"]): Promise<void>;
  pageRows(): number;
}

/** Intents between two pauses for the socket, so that the next page arrives while this one is decided. */
export const breath_rows = 50;
