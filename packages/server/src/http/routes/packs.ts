import { getPack, listPacks, type Packs } from "../../operations/policies/read-packs.ts";
import type { Handlers } from "../handler.ts";

export function packRoutes(packs: Packs): Pick<Handlers, "listPacks" | "getPack"> {
  return {
    async listPacks({ query }) {
      return { status: 200, body: listPacks(packs, query) };
    },
    async getPack({ params }) {
      return { status: 200, body: { pack: getPack(packs, params.name) } };
    },
  };
}
