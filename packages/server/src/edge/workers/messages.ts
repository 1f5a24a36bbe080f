import type { RateTake } from "@countersign/core";
import type { ConnectionOptions } from "../../store/database/connection.ts";

export type RateCall =
  | { readonly kind: "take" | "look"; readonly bucket: string; readonly limit: number; readonly now_ms: number }
  | { readonly kind: "refund"; readonly bucket: string; readonly taken: RateTake; readonly now_ms: number };

/** In prom-client's format. */
export type ProcessMetrics = readonly object[];

export type WorkerSays =
  /** The worker needs the database. */
  | { readonly kind: "begun" }
  | { readonly kind: "listening"; readonly url: string }
  | { readonly kind: "rates"; readonly id: number; readonly calls: readonly RateCall[] }
  /** Asks for the metrics of all workers. */
  | { readonly kind: "all_metrics"; readonly id: number }
  /** Answers `own_metrics`. */
  | { readonly kind: "own_metrics"; readonly id: number; readonly metrics: ProcessMetrics };

export type SupervisorSays =
  | { readonly kind: "database"; readonly connection: ConnectionOptions }
  | { readonly kind: "rates"; readonly id: number; readonly takes: readonly RateTake[] }
  | { readonly kind: "own_metrics"; readonly id: number }
  | { readonly kind: "all_metrics"; readonly id: number; readonly metrics: readonly ProcessMetrics[] }
  /** `drains`: the whole service ends, so load balancers get the configured drain time. */
  | { readonly kind: "stop"; readonly drains: boolean };
