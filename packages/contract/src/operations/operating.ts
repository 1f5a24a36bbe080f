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
    answers: { 200: { description: "It is.", schema: Health } },
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
