/** What the supervisor and its worker processes say to each other. */
import type { RateTake } from "@countersign/core";
import type { ConnectionOptions } from "../../store/database/connection.ts";

/** One question about a rate window; the parameters are those of `RateWindows`. */
export type RateCall =
  | { readonly kind: "take" | "look"; readonly bucket: string; readonly limit: number; readonly now_ms: number }
  | { readonly kind: "refund"; readonly bucket: string; readonly taken: RateTake; readonly now_ms: number };

/** The metrics of one process, as prom-client writes them down. */
export type ProcessMetrics = readonly object[];

/** From a worker. */
export type WorkerSays =
  /** It has begun, and needs the database. */
  | { readonly kind: "begun" }
  | { readonly kind: "listening"; readonly url: string }
  | { readonly kind: "rates"; readonly id: number; readonly calls: readonly RateCall[] }
  /** Asks for the metrics of all workers. */
  | { readonly kind: "all_metrics"; readonly id: number }
  /** Answers `own_metrics`. */
  | { readonly kind: "own_metrics"; readonly id: number; readonly metrics: ProcessMetrics };

/** To a worker. */
export type SupervisorSays =
  | { readonly kind: "database"; readonly connection: ConnectionOptions }
  | { readonly kind: "rates"; readonly id: number; readonly takes: readonly RateTake[] }
  | { readonly kind: "own_metrics"; readonly id: number }
  | { readonly kind: "all_metrics"; readonly id: number; readonly metrics: readonly ProcessMetrics[] }
  /** End in order. `drains`: the whole service ends, so load balancers are given the time that is set for it. */
  | { readonly kind: "stop"; readonly drains: boolean };
