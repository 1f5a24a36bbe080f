import { limits } from "../../limits.ts";
import {
  closed,
  Erasure,
  ErasureListQuery,
  ErasureQuery,
  givenId,
  LegalHold,
  LegalHoldInput,
  listed,
  listQuery,
  Retention,
  RetentionAnswer,
  RetentionQuery,
  subjectParams,
  wrapped,
} from "../../resources/index.ts";
import type { Operation } from "../operation.ts";

const common = { tag: "Erasure", rate: "general" } as const;
const admins = { ...common, auth: ["admin"] } as const;
const readers = { ...common, auth: ["admin", "auditor"] } as const;

const erasing = {
  200: { description: "A dry run, or an erasure that is done.", schema: wrapped("erasure", Erasure) },
  202: { description: "The erasure goes on in the background.", schema: wrapped("erasure", Erasure) },
} as const;

/** See docs/how-to/erasure.md. */
export const erasureOperations = {
  eraseSubject: {
    ...admins,
    method: "DELETE",
    path: "/v1/subjects/{kind}/{subject}",
    summary: "Erase what the records say about a subject",
    description:
      "Removes the content of each decision that is about the subject. Open reviews of them are closed as blocked first. Ids, times, verdicts, " +
      "hashes and figures stay. `dry_run=true` counts and changes nothing.",
    params: subjectParams,
    query: ErasureQuery,
    answers: erasing,
    refuses: ["legal_hold"],
  },
  eraseIntent: {
    ...admins,
    method: "DELETE",
    path: "/v1/intents/{intent_id}/content",
    summary: "Erase what one intent was about",
    description:
      "Also erases intents that rest on the same review, because they have the same action. `dry_run=true` counts and changes nothing.",
    params: closed({ intent_id: givenId("prefix int_") }),
    query: ErasureQuery,
    answers: erasing,
    refuses: ["not_found", "legal_hold"],
  },
  listErasures: {
    ...readers,
    method: "GET",
    path: "/v1/erasures",
    summary: "List erasures",
    query: ErasureListQuery,
    answers: { 200: { description: "Newest first.", schema: listed("erasures", Erasure) } },
  },
  getErasure: {
    ...readers,
    method: "GET",
    path: "/v1/erasures/{erasure_id}",
    summary: "Read the progress of an erasure",
    params: closed({ erasure_id: givenId("prefix ers_") }),
    answers: { 200: { description: "The erasure.", schema: wrapped("erasure", Erasure) } },
    refuses: ["not_found"],
  },
  getRetention: {
    ...readers,
    method: "GET",
    path: "/v1/retention",
    summary: "Read how long records keep their content",
    answers: { 200: { description: "The days, and what is due now.", schema: RetentionAnswer } },
  },
  putRetention: {
    ...admins,
    method: "PUT",
    path: "/v1/retention",
    summary: "Set how long records keep their content",
    description:
      "Legal holds are stronger. Decisions themselves stay for ever. `dry_run=true` counts and saves nothing.",
    query: RetentionQuery,
    body: Retention,
    body_bytes_max: limits.body_bytes_max,
    answers: { 200: { description: "The days, and what is due now.", schema: RetentionAnswer } },
  },
  createLegalHold: {
    ...admins,
    method: "POST",
    path: "/v1/legal-holds",
    summary: "Put records on legal hold",
    description: "Until the release, neither an erasure nor retention removes what the hold is about.",
    idempotent: true,
    body: LegalHoldInput,
    body_bytes_max: limits.body_bytes_max,
    answers: { 201: { description: "The hold.", schema: wrapped("legal_hold", LegalHold) } },
    refuses: ["state_conflict"],
  },
  listLegalHolds: {
    ...readers,
    method: "GET",
    path: "/v1/legal-holds",
    summary: "List legal holds",
    query: listQuery({}),
    answers: { 200: { description: "Newest first.", schema: listed("legal_holds", LegalHold) } },
  },
  deleteLegalHold: {
    ...admins,
    method: "DELETE",
    path: "/v1/legal-holds/{hold_id}",
    summary: "Release a legal hold",
    params: closed({ hold_id: givenId("prefix hld_") }),
    answers: { 204: { description: "It is released.", schema: null } },
    refuses: ["not_found"],
  },
} as const satisfies Record<string, Operation>;
