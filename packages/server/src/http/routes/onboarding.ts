/** Onboarding over HTTP. Source: contract §4, api.md §10. */
import { recommend } from "../../operations/organizations/intake.ts";
import { quickstart } from "../../operations/organizations/quickstart.ts";
import type { Runtime } from "../../operations/runtime.ts";
import type { Handlers } from "../handler.ts";

export function onboardingRoutes(runtime: Runtime): Pick<Handlers, "quickstart" | "intake"> {
  return {
    async quickstart({ body }) {
      return { status: 201, body: await quickstart(runtime, body) };
    },
    async intake({ body }) {
      return { status: 200, body: await recommend(runtime, body) };
    },
  };
}
