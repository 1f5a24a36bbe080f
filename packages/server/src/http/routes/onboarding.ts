import { recommend } from "../../operations/organizations/intake.ts";
import { quickstart } from "../../operations/organizations/quickstart.ts";
import type { Runtime } from "../../operations/runtime.ts";
import { answerOnce } from "../answer/answer-once.ts";
import type { Handlers } from "../handler.ts";

export function onboardingRoutes(runtime: Runtime): Pick<Handlers, "quickstart" | "intake"> {
  return {
    async quickstart({ body, idempotency_key }) {
      const { response, replayed } = await quickstart(runtime, body, idempotency_key);
      return answerOnce(replayed, { status: 201, body: response });
    },
    async intake({ body }) {
      return { status: 200, body: await recommend(runtime, body) };
    },
  };
}
