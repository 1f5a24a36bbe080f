import type { SlackReply } from "@countersign/contract";
import type { SlackAccount, SlackRequest } from "@countersign/core";
import { putSlackChannel, removeChannel } from "../../operations/channels/connect-slack.ts";
import { putTeamsChannel } from "../../operations/channels/connect-teams.ts";
import { beginSlackLink, endSlackLink } from "../../operations/channels/link-slack.ts";
import { addPushDevice, readOwnChannels, removePushDevice } from "../../operations/channels/push-devices.ts";
import { readChannels } from "../../operations/channels/read-channels.ts";
import {
  answerCommand,
  endedLink,
  readSlackRequest,
  refusalReply,
  type SignedForm,
  slackCaller,
  unlinkedReply,
  voteFromSlack,
} from "../../operations/channels/slack-requests.ts";
import type { Runtime } from "../../operations/runtime.ts";
import type { Caller } from "../../operations/shared/caller.ts";
import { faultOf } from "../answer/faults.ts";
import { remember } from "../gate/known.ts";
import type { Answer, Handlers } from "../handler.ts";

type ChannelHandlers = Pick<
  Handlers,
  | "getChannels"
  | "putSlackChannel"
  | "deleteSlackChannel"
  | "putTeamsChannel"
  | "deleteTeamsChannel"
  | "takeSlackRequest"
  | "getOwnChannels"
  | "beginSlackLink"
  | "endSlackLink"
  | "addPushDevice"
  | "deletePushDevice"
>;

const done: Answer = { status: 204 };

export function channelRoutes(runtime: Runtime): ChannelHandlers {
  return {
    async getChannels({ caller }) {
      return { status: 200, body: { channels: await readChannels(runtime, caller) } };
    },
    async putSlackChannel({ caller, body }) {
      return { status: 200, body: { slack: await putSlackChannel(runtime, caller, body) } };
    },
    async deleteSlackChannel({ caller }) {
      await removeChannel(runtime, caller, "slack");
      return done;
    },
    async putTeamsChannel({ caller, body }) {
      return { status: 200, body: { teams: await putTeamsChannel(runtime, caller, body) } };
    },
    async deleteTeamsChannel({ caller }) {
      await removeChannel(runtime, caller, "teams");
      return done;
    },
    async takeSlackRequest({ params: { org_id }, headers, body }) {
      const form = {
        org_id,
        timestamp: String(headers["x-slack-request-timestamp"]),
        signature: String(headers["x-slack-signature"]),
        body,
      };
      return { status: 200, body: await answerSlack(runtime, form) };
    },
    async getOwnChannels({ caller }) {
      return { status: 200, body: { channels: await readOwnChannels(runtime, caller) } };
    },
    async beginSlackLink({ caller }) {
      return { status: 201, body: { link: await beginSlackLink(runtime, caller) } };
    },
    async endSlackLink({ caller }) {
      await endSlackLink(runtime, caller);
      return done;
    },
    async addPushDevice({ caller, body }) {
      return { status: 201, body: { channels: await addPushDevice(runtime, caller, body) } };
    },
    async deletePushDevice({ caller, params }) {
      await removePushDevice(runtime, caller, params.device_id);
      return done;
    },
  };
}

/** Slack shows the body of an answer to a command, but not to a click, whose answer goes to its `response_url`. */
async function answerSlack(runtime: Runtime, form: SignedForm): Promise<SlackReply | Record<string, never>> {
  const request = await readSlackRequest(runtime, form);
  if (request.kind === "command") return answerCommand(runtime, form.org_id, request);
  if (request.kind === "vote") {
    const refused = await vote(runtime, form, request);
    if (refused !== null && request.response_url !== null) {
      const headers = { "Content-Type": "application/json" };
      // Slack expects the answer within 3 s, so it does not wait for this.
      void runtime.httpOut.post(request.response_url, headers, JSON.stringify({ ...refused, replace_original: false }));
    }
  }
  return {};
}

/** Null: the vote counts. */
async function vote(
  runtime: Runtime,
  form: SignedForm,
  request: Extract<SlackRequest, { kind: "vote" }>,
): Promise<SlackReply | null> {
  try {
    const caller = await rememberedCaller(runtime, form.org_id, request.account);
    if (caller === null) return unlinkedReply(runtime);
    await voteFromSlack(runtime, caller, request, form);
    return null;
  } catch (error) {
    return refusalReply(runtime, faultOf(error), request.escalation_id);
  }
}

/** Null: the account is not linked. */
async function rememberedCaller(runtime: Runtime, org_id: string, account: SlackAccount): Promise<Caller | null> {
  const caller = await slackCaller(runtime, org_id, account);
  if (caller === null) return null;
  const again = async () => {
    const current = await slackCaller(runtime, org_id, account);
    if (current === null) throw endedLink();
    return remember({ caller: current, again });
  };
  return remember({ caller, again }).caller;
}
