import type { FreezeInput, UnfreezeInput } from "@countersign/contract";
import { freeze } from "../../operations/freezes/freeze.ts";
import type { FreezeTarget } from "../../operations/freezes/freeze-subject.ts";
import { previewFreeze, readFreezeList } from "../../operations/freezes/read-freezes.ts";
import { unfreeze } from "../../operations/freezes/unfreeze.ts";
import type { Runtime } from "../../operations/runtime.ts";
import type { Caller } from "../../operations/shared/caller.ts";
import type { Answer, Handlers } from "../handler.ts";

type FreezeHandlers = Pick<
  Handlers,
  | "listFreezes"
  | "previewFreeze"
  | "freezeAgent"
  | "unfreezeAgent"
  | "freezeKey"
  | "unfreezeKey"
  | "freezeOrganization"
  | "unfreezeOrganization"
>;

export function freezeRoutes(runtime: Runtime): FreezeHandlers {
  const agent = ({ agent_id }: { agent_id: string }): FreezeTarget => ({ kind: "agent", name: agent_id });
  const key = ({ key_id }: { key_id: string }): FreezeTarget => ({ kind: "key", name: key_id });
  const organization = ({ org_id }: Caller): FreezeTarget => ({ kind: "organization", name: org_id });

  async function begin(caller: Caller, target: FreezeTarget, input: FreezeInput): Promise<Answer> {
    return { status: 200, body: { freeze: await freeze(runtime, caller, target, input) } };
  }
  async function end(caller: Caller, target: FreezeTarget, input: UnfreezeInput): Promise<Answer> {
    const body = await unfreeze(runtime, caller, target, input);
    return { status: body.unfrozen ? 200 : 202, body };
  }

  return {
    async listFreezes({ caller }) {
      return { status: 200, body: { freezes: await readFreezeList(runtime, caller) } };
    },
    async previewFreeze({ caller, query }) {
      return { status: 200, body: { preview: await previewFreeze(runtime, caller, query) } };
    },
    freezeAgent: ({ caller, params, body }) => begin(caller, agent(params), body),
    unfreezeAgent: ({ caller, params, body }) => end(caller, agent(params), body),
    freezeKey: ({ caller, params, body }) => begin(caller, key(params), body),
    unfreezeKey: ({ caller, params, body }) => end(caller, key(params), body),
    freezeOrganization: ({ caller, body }) => begin(caller, organization(caller), body),
    unfreezeOrganization: ({ caller, body }) => end(caller, organization(caller), body),
  };
}
