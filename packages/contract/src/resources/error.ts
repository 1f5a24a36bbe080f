import Type, { type Static } from "typebox";
import { type ErrorCode, errorCodes } from "../error-codes.ts";
import { anyObject, oneOf, text } from "./shapes.ts";

/** The body of every answer from 400 on. Source: spec §2.8. */
export const ErrorObject = Type.Object(
  {
    error: Type.Object({
      code: oneOf(Object.keys(errorCodes) as ErrorCode[]),
      message: text(2_000),
      details: Type.Array(anyObject(), {
        description:
          "On 400 {path, code, message} for each problem, path is a JSON Pointer; on 429 one {retry_after_seconds}; otherwise often empty.",
      }),
      request_id: text(128, { description: "the value of X-Request-Id" }),
    }),
  },
  { title: "Error" },
);
export type ErrorObject = Static<typeof ErrorObject>;
