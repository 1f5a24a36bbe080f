/** Source: RFC 9700, section 4.4. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { networkList } from "@countersign/core";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { createHttpOut } from "../../src/edge/outgoing/http-out.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call, testOrganization } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { testDomains } from "../../src/testing/people/domains.ts";
import { client_id, client_secret, openIdProvider } from "../../src/testing/people/open-id-provider.ts";

const database = await testDatabase();
const public_url = "https://countersign.example";
const honest = await openIdProvider(`${public_url}/sso/callback`);
const httpOut = createHttpOut({ rules: { allow_http: true, allow_networks: networkList(["127.0.0.0/8"]) } });
afterAll(() => httpOut.close());

/** A provider with only real metadata. Records what it receives. */
async function evilProvider() {
  const received: string[] = [];
  const server = createServer((request, response) => {
    if (request.method === "POST") {
      let body = "";
      request.setEncoding("utf8").on("data", (chunk) => (body += chunk));
      request.on("end", () => {
        received.push(body);
        response.writeHead(400, { "Content-Type": "application/json" }).end('{"error":"invalid_grant"}');
      });
      return;
    }
    const at = (path: string) => `${issuer}${path}`;
    const metadata = {
      issuer,
      authorization_endpoint: at("/auth"),
      token_endpoint: at("/token"),
      jwks_uri: at("/jwks"),
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
    };
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(metadata));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { issuer, received };
}

test("a code of one organization's provider is sent to no other organization's", async () => {
  const { txtRecords, prove } = testDomains();
  const { url } = await serviceNode(database, { httpOut, txtRecords, config: { public_url } });
  const evil = await evilProvider();

  async function organization(domain: string, issuer: string) {
    const org = await testOrganization(database.db);
    const { org_id } = org;
    prove(domain, org_id);
    const body = { issuer, client_id, client_secret, email_domains: [domain], default_role: "reviewer" };
    const { api_key: key } = await org.key();
    expect((await call(url, "PUT", "/v1/auth/sso", { key, body })).status).toBe(200);
    return org_id;
  }
  const attacked = await organization("victim.example", honest.issuer);
  const attacking = await organization("attacker.example", evil.issuer);

  async function begun(org_id: string) {
    const answer = await call(url, "POST", "/v1/auth/sso/begin", { body: { org_id } });
    const cookie = answer.headers.get("set-cookie")?.split(";")[0] as string;
    return { location: new URL(answer.json.single_sign_on.location), cookie };
  }
  // The victim starts a login at the attacker's provider. It redirects to the honest provider with a login that the
  // attacker began there, and the victim's state.
  const lured = await begun(attacking);
  const own = await begun(attacked);
  own.location.searchParams.set("state", lured.location.searchParams.get("state") as string);
  const account = { sub: "victim", email: "someone@victim.example", email_verified: true };
  const callback = await honest.signIn(own.location.href, account);
  // Some providers do not name themselves in the answer (RFC 9207).
  callback.searchParams.delete("iss");
  const org_id = callback.pathname.split("/").at(-1);
  const body = { org_id, callback_query: callback.search.slice(1) };
  const answer = await call(url, "POST", "/v1/auth/sso/finish", { headers: { cookie: lured.cookie }, body });
  expect(evil.received).toEqual([]);
  expect([answer.status, answer.json.error.code]).toEqual([401, "invalid_credentials"]);
});
