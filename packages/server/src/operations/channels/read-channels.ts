import type { Channels } from "@countersign/contract";
import { readChannel } from "../../store/channels/channels.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { shownSlack, slackRequestUrl } from "./connect-slack.ts";
import { shownTeams, type TeamsSettings } from "./connect-teams.ts";
import type { SlackSettings } from "./slack-api.ts";

export async function readChannels(
  runtime: Pick<Runtime, "db" | "settings">,
  { org_id }: Pick<Caller, "org_id">,
): Promise<Channels> {
  return runtime.db.tenant(org_id, async (query) => {
    const slack = await readChannel<SlackSettings>(query, org_id, "slack");
    const teams = await readChannel<TeamsSettings>(query, org_id, "teams");
    return {
      slack: slack === undefined ? null : shownSlack(runtime, slack),
      teams: teams === undefined ? null : shownTeams(teams),
      slack_request_url: slackRequestUrl(runtime, org_id),
    };
  });
}
