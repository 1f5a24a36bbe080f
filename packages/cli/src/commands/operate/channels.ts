import type { SlackChannelInput } from "@countersign/contract";
import { Argument, type Command } from "commander";
import { CommandFailed } from "../../command-failed.ts";
import { answered, keyOption, type ServiceOptions, serviceClient, strangerText, urlOption } from "../../service.ts";
import { formatTable } from "../../table.ts";
import type { Terminal } from "../../terminal.ts";
import { visible } from "../../visible.ts";

type Kind = "slack" | "teams";

interface AddOptions extends ServiceOptions {
  readonly channel?: string;
  readonly botToken?: string;
  readonly signingSecret?: string;
  readonly apiUrl?: string;
  readonly webhookUrl?: string;
}

const add_help = `
The service posts a first message at once, and refuses settings with which that fails. Other users of this machine see the options
of a command. So set secrets as COUNTERSIGN_SLACK_BOT_TOKEN, COUNTERSIGN_SLACK_SIGNING_SECRET and COUNTERSIGN_TEAMS_WEBHOOK_URL
instead. For Slack, secrets that you leave out stay unchanged. \`countersign channels list\` prints the address for the app's settings.

Examples:
  $ countersign channels add slack --channel C0123ABCD
  $ countersign channels add teams`;

export function addChannels(program: Command, terminal: Terminal): void {
  const channels = program.command("channels").description("chats in which reviews are announced");
  const kind = () => new Argument("<kind>", "the chat").choices(["slack", "teams"]);
  channels
    .command("list")
    .description("list the chats in which reviews are announced")
    .addOption(urlOption())
    .addOption(keyOption("admin or auditor key"))
    .addHelpText("after", "\nExample:\n  $ countersign channels list")
    .action((options: ServiceOptions) => list(terminal, options));
  channels
    .command("add")
    .addArgument(kind())
    .description("announce reviews in a chat, or change how")
    .option("--channel <id>", "slack: the channel's id (C… or G…)")
    .option("--bot-token <token>", "slack: the app's bot token (default: COUNTERSIGN_SLACK_BOT_TOKEN)")
    .option("--signing-secret <secret>", "slack: the app's signing secret (default: COUNTERSIGN_SLACK_SIGNING_SECRET)")
    .option("--api-url <url>", "slack: the base of its API, such as https://slack-gov.com/api")
    .option("--webhook-url <url>", "teams: the address of the workflow (default: COUNTERSIGN_TEAMS_WEBHOOK_URL)")
    .addOption(urlOption())
    .addOption(keyOption("admin key"))
    .addHelpText("after", add_help)
    .action((to: Kind, options: AddOptions) => add(terminal, to, options));
  channels
    .command("remove")
    .addArgument(kind())
    .description("no longer announce reviews in a chat")
    .addOption(urlOption())
    .addOption(keyOption("admin key"))
    .addHelpText("after", "\nExample:\n  $ countersign channels remove slack")
    .action((from: Kind, options: ServiceOptions) => remove(terminal, from, options));
}

async function list(terminal: Terminal, options: ServiceOptions): Promise<void> {
  const channels = await answered(() => serviceClient(terminal, options).getChannels());
  if (channels === undefined) throw new CommandFailed(strangerText(""));
  const { slack, teams, slack_request_url } = channels;
  const rows = [
    ...(slack === null ? [] : [["slack", `${slack.channel_id} in ${slack.team_id}`, slack.updated_at]]),
    ...(teams === null ? [] : [["teams", `a workflow at ${teams.webhook_host}`, teams.updated_at]]),
  ];
  if (rows.length === 0) terminal.print("reviews are announced in no chat");
  else terminal.print(formatTable([["CHAT", "WHERE", "CHANGED"], ...rows]));
  terminal.print(visible(`\naddress for the Slack app's settings: ${slack_request_url}`));
}

async function add(terminal: Terminal, kind: Kind, options: AddOptions): Promise<void> {
  const client = serviceClient(terminal, options);
  if (kind === "slack") {
    const input = slackInput(terminal, options);
    const slack = await answered(() => client.putSlackChannel(input));
    if (slack === undefined) throw new CommandFailed(strangerText(""));
    return terminal.print(
      visible(`reviews are announced in the Slack channel ${slack.channel_id}; a first message is there`),
    );
  }
  refuseOthers("teams", options, ["channel", "botToken", "signingSecret", "apiUrl"]);
  const webhook_url = options.webhookUrl ?? terminal.env["COUNTERSIGN_TEAMS_WEBHOOK_URL"] ?? "";
  if (webhook_url === "") throw new CommandFailed("give the workflow's address as COUNTERSIGN_TEAMS_WEBHOOK_URL");
  const teams = await answered(() => client.putTeamsChannel({ webhook_url }));
  if (teams === undefined) throw new CommandFailed(strangerText(""));
  terminal.print(visible(`reviews are announced by the workflow at ${teams.webhook_host}; a first card is there`));
}

function slackInput({ env }: Pick<Terminal, "env">, options: AddOptions): SlackChannelInput {
  refuseOthers("slack", options, ["webhookUrl"]);
  const { channel: channel_id, apiUrl: api_url } = options;
  if (channel_id === undefined) throw new CommandFailed("give the channel: --channel C0123ABCD");
  const bot_token = options.botToken ?? env["COUNTERSIGN_SLACK_BOT_TOKEN"] ?? "";
  const signing_secret = options.signingSecret ?? env["COUNTERSIGN_SLACK_SIGNING_SECRET"] ?? "";
  return {
    channel_id,
    ...(bot_token === "" ? {} : { bot_token }),
    ...(signing_secret === "" ? {} : { signing_secret }),
    ...(api_url === undefined ? {} : { api_url }),
  };
}

function refuseOthers(kind: Kind, options: AddOptions, names: readonly (keyof AddOptions)[]): void {
  const wrong = names.find((name) => options[name] !== undefined);
  if (wrong === undefined) return;
  const option = wrong.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new CommandFailed(`--${option} is not an option of ${kind}`);
}

async function remove(terminal: Terminal, kind: Kind, options: ServiceOptions): Promise<void> {
  const client = serviceClient(terminal, options);
  await answered(() => (kind === "slack" ? client.deleteSlackChannel() : client.deleteTeamsChannel()));
  terminal.print(`reviews are no longer announced in ${kind}`);
}
