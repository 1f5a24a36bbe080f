import type { Runtime } from "../../operations/runtime.ts";
import {
  addTokenIssuer,
  listTokenIssuers,
  removeTokenIssuer,
  replaceTokenIssuer,
} from "../../operations/tokens/token-issuers.ts";
import type { Handlers } from "../handler.ts";

type TokenIssuerHandlers = Pick<
  Handlers,
  "addTokenIssuer" | "listTokenIssuers" | "replaceTokenIssuer" | "removeTokenIssuer"
>;

export function tokenIssuerRoutes(runtime: Runtime): TokenIssuerHandlers {
  return {
    async addTokenIssuer({ caller, body }) {
      return { status: 201, body: { token_issuer: await addTokenIssuer(runtime, caller, body) } };
    },
    async listTokenIssuers({ caller }) {
      return { status: 200, body: { token_issuers: await listTokenIssuers(runtime, caller) } };
    },
    async replaceTokenIssuer({ caller, params, body }) {
      return { status: 200, body: { token_issuer: await replaceTokenIssuer(runtime, caller, params.issuer_id, body) } };
    },
    async removeTokenIssuer({ caller, params }) {
      await removeTokenIssuer(runtime, caller, params.issuer_id);
      return { status: 204 };
    },
  };
}
