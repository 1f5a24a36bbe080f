import { fakeModel } from "@langchain/core/testing";
import { AIMessage } from "langchain";
import type { StubCall } from "./stub-call.ts";

/** Without a call: the model of a resumed run, which made its call before. */
export function stubModel(call?: StubCall) {
  const model = fakeModel();
  if (call !== undefined) model.respondWithTools([{ name: call.name, args: { ...call.args }, id: call.call_id }]);
  return model.respond(new AIMessage("done"));
}
