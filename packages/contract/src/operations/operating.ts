import Type from "typebox";
import { anyObject, Health, Readiness } from "../resources/index.ts";
import type { Operation } from "./operation.ts";

/** Health, metrics and the OpenAPI document, without key and rate limit. */
export const operatingOperations = {
  getHealth: {
    method: "GET",
    path: "/healthz",
    tag: "Operating",
    summary: "Check that the process runs",
    auth: "none",
    rate: null,
    answers: { 200: { description: "The process runs.", schema: Health } },
  },
  getReadiness: {
    method: "GET",
    path: "/readyz",
    tag: "Operating",
    summary: "Check that the database is reachable and migrated",
    auth: "none",
    rate: null,
    answers: { 200: { description: "The service can answer requests.", schema: Readiness } },
    refuses: ["unavailable"],
  },
  getMetrics: {
    method: "GET",
    path: "/metrics",
    tag: "Operating",
    summary: "Read metrics in the Prometheus text format",
    description:
      "Without a bearer token, only clients on the same machine (loopback) get an answer. All others must send the value of COUNTERSIGN_METRICS_TOKEN as bearer token.",
    auth: "none",
    rate: null,
    answers: {
      200: {
        description: "Metrics in the Prometheus text format.",
        schema: Type.String(),
        media_types: ["text/plain"],
      },
    },
    refuses: ["forbidden"],
  },
  getOpenapi: {
    method: "GET",
    path: "/openapi.json",
    tag: "Operating",
    summary: "Read the OpenAPI document of this API",
    auth: "none",
    rate: null,
    answers: { 200: { description: "An OpenAPI 3.1 document.", schema: anyObject() } },
  },
} as const satisfies Record<string, Operation>;
