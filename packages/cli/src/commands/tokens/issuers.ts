import type { TokenIssuer, TokenIssuerInput } from "@countersign/contract";
import type { Command } from "commander";
import { CommandFailed } from "../../command-failed.ts";
import { exactJson } from "../../exact-json.ts";
import { answered, keyOption, type ServiceOptions, serviceClient, strangerText, urlOption } from "../../service.ts";
import { formatTable } from "../../table.ts";
import type { Terminal } from "../../terminal.ts";
import { readTextFile } from "../../text-file.ts";
import { visible } from "../../visible.ts";
import { wholeFrom } from "../../whole-number.ts";

interface AddOptions extends ServiceOptions {
  readonly issuer?: string;
  readonly trustDomain?: string;
  readonly jwksUrl?: string;
  readonly jwksFile?: string;
  readonly audience: readonly string[];
  readonly claim?: readonly string[];
  readonly leeway?: number;
}

const add_help = `
Give --issuer or --trust-domain, and --jwks-url or --jwks-file. Agents then send a token of this issuer in the header Agent-Token.

Examples:
  $ countersign issuers add --issuer https://idp.example.com --jwks-url https://idp.example.com/jwks --audience countersign
  $ countersign issuers add --trust-domain prod.example.com --jwks-file bundle.json --audience countersign`;

export function addIssuers(program: Command, terminal: Terminal): void {
  const issuers = program.command("issuers").description("trusted issuers of tokens that prove who an agent is");
  issuers
    .command("add")
    .description("trust an issuer")
    .option("--issuer <iss>", "the `iss` of its tokens")
    .option("--trust-domain <name>", "the SPIFFE trust domain of its tokens, without spiffe://")
    .option("--jwks-url <url>", "where its public keys are")
    .option("--jwks-file <file>", "a JSON Web Key Set with its public keys")
    .requiredOption("--audience <aud...>", "a token must name one of these in `aud`")
    .option("--claim <fact=claim...>", "a fact of identity and its claim, such as authenticated_agent_id=azp")
    .option("--leeway <seconds>", "by how much its clock may differ", wholeFrom(0, 300))
    .addOption(urlOption())
    .addOption(keyOption("admin key"))
    .addHelpText("after", add_help)
    .action((options: AddOptions) => add(terminal, options));
  issuers
    .command("list")
    .description("list the trusted issuers")
    .addOption(urlOption())
    .addOption(keyOption("operator key"))
    .addHelpText("after", "\nExample:\n  $ countersign issuers list")
    .action((options: ServiceOptions) => list(terminal, options));
  issuers
    .command("remove <issuer_id>")
    .description("stop trusting an issuer")
    .addOption(urlOption())
    .addOption(keyOption("admin key"))
    .addHelpText("after", "\nExample:\n  $ countersign issuers remove iss_01K…")
    .action(async (issuer_id: string, options: ServiceOptions) => {
      await answered(() => serviceClient(terminal, options).removeTokenIssuer(issuer_id));
      terminal.print(visible(`${issuer_id} is removed`));
    });
}

async function add(terminal: Terminal, options: AddOptions): Promise<void> {
  const { issuer, trustDomain, jwksUrl, jwksFile, audience, claim, leeway } = options;
  const what = `--jwks-file ${jwksFile}`;
  const jwks = jwksFile === undefined ? undefined : await exactJson(await readTextFile(jwksFile, what), what);
  const input: TokenIssuerInput = {
    audience: [...audience],
    ...(issuer !== undefined && { issuer }),
    ...(trustDomain !== undefined && { trust_domain: trustDomain }),
    ...(jwksUrl !== undefined && { jwks_url: jwksUrl }),
    ...(jwks !== undefined && { jwks: jwks as Record<string, unknown> }),
    ...(claim !== undefined && { claims: claimsIn(claim) }),
    ...(leeway !== undefined && { leeway_seconds: leeway }),
  };
  const added = await answered(() => serviceClient(terminal, options).addTokenIssuer(input));
  if (added === undefined) throw new CommandFailed(strangerText(""));
  terminal.print(visible(`${added.issuer_id}: tokens of ${nameOf(added)} are trusted`));
}

/** Throws CommandFailed if a text has no `=`. */
function claimsIn(texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const [fact = "", ...claim] = text.split("=");
      if (claim.length === 0) throw new CommandFailed(`--claim ${text}: write a fact, "=" and its claim`);
      return [fact, claim.join("=")];
    }),
  );
}

async function list(terminal: Terminal, options: ServiceOptions): Promise<void> {
  const issuers = await answered(() => serviceClient(terminal, options).listTokenIssuers());
  if (!Array.isArray(issuers)) throw new CommandFailed(strangerText(""));
  if (issuers.length === 0) return terminal.print("no token issuer is trusted");
  const rows = issuers.map((each) => [
    each.issuer_id,
    nameOf(each),
    each.jwks_url ?? "pasted keys",
    each.audience.join(", "),
  ]);
  terminal.print(formatTable([["id", "issuer", "keys", "audience"], ...rows]));
}

function nameOf({ issuer, trust_domain }: TokenIssuer): string {
  return issuer ?? `spiffe://${trust_domain}`;
}
