import Type from "typebox";
import { anyObject, Health, Readiness } from "../resources/index.ts";
import type { Operation } from "./operation.ts";

/** Health, metrics and the API's own description. None needs a key, none is rate-limited. Source: api.md §1. */
export const operatingOperations = {
  getHealth: {
    method: "GET",
    path: "/healthz",
    tag: "Operating",
    summary: "The process is up",
    auth: "none",
    rate: null,
    answers: { 200: { description: "It is.", schema: Health } },
  },
  getReadiness: {
    method: "GET",
    path: "/readyz",
    tag: "Operating",
    summary: "The database is reachable and migrated",
    auth: "none",
    rate: null,
    answers: { 200: { description: "Requests can be served.", schema: Readiness } },
    refuses: ["unavailable"],
  },
  getMetrics: {
    method: "GET",
    path: "/metrics",
    tag: "Operating",
    summary: "Metrics in the Prometheus text format",
    description: "Answers loopback peers only, unless COUNTERSIGN_METRICS_TOKEN is sent as a bearer token.",
    auth: "none",
    rate: null,
    answers: { 200: { description: "The metrics.", schema: Type.String(), media_type: "text/plain" } },
    refuses: ["forbidden"],
  },
  getOpenapi: {
    method: "GET",
    path: "/openapi.json",
    tag: "Operating",
    summary: "This document",
    auth: "none",
    rate: null,
    answers: { 200: { description: "OpenAPI 3.1.", schema: anyObject() } },
  },
} as const satisfies Record<string, Operation>;
