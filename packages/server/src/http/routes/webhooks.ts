import type { Runtime } from "../../operations/runtime.ts";
import { changeWebhook } from "../../operations/webhooks/change-webhook.ts";
import { deleteWebhook } from "../../operations/webhooks/delete-webhook.ts";
import { getWebhook } from "../../operations/webhooks/get-webhook.ts";
import { listDeliveries } from "../../operations/webhooks/list-deliveries.ts";
import { listFailedDeliveries } from "../../operations/webhooks/list-failed-deliveries.ts";
import { listWebhookHealth } from "../../operations/webhooks/list-webhook-health.ts";
import { listWebhooks } from "../../operations/webhooks/list-webhooks.ts";
import { registerWebhook } from "../../operations/webhooks/register-webhook.ts";
import { replayDeliveries } from "../../operations/webhooks/replay-deliveries.ts";
import { resumeWebhook } from "../../operations/webhooks/resume-webhook.ts";
import { retryDelivery } from "../../operations/webhooks/retry-delivery.ts";
import { retryFailedDeliveries } from "../../operations/webhooks/retry-failed-deliveries.ts";
import { rotateWebhookSecret } from "../../operations/webhooks/rotate-webhook-secret.ts";
import { testWebhook } from "../../operations/webhooks/test-webhook.ts";
import { answerOnce } from "../answer/answer-once.ts";
import type { Handlers } from "../handler.ts";

type WebhookHandlers = Pick<
  Handlers,
  | "registerWebhook"
  | "listWebhooks"
  | "getWebhook"
  | "changeWebhook"
  | "rotateWebhookSecret"
  | "deleteWebhook"
  | "listFailedDeliveries"
  | "retryDelivery"
  | "retryFailedDeliveries"
  | "resumeWebhook"
  | "testWebhook"
  | "listWebhookHealth"
  | "listDeliveries"
  | "replayDeliveries"
>;

export function webhookRoutes(runtime: Runtime): WebhookHandlers {
  return {
    async registerWebhook({ caller, body, idempotency_key }) {
      const { response, replayed } = await registerWebhook(runtime, caller, body, idempotency_key);
      return answerOnce(replayed, { status: 201, body: { webhook: response } });
    },
    async listWebhooks({ caller, query }) {
      return { status: 200, body: await listWebhooks(runtime, caller, query) };
    },
    async getWebhook({ caller, params }) {
      return { status: 200, body: { webhook: await getWebhook(runtime, caller, params.webhook_id) } };
    },
    async changeWebhook({ caller, params, body }) {
      return { status: 200, body: { webhook: await changeWebhook(runtime, caller, params.webhook_id, body) } };
    },
    async rotateWebhookSecret({ caller, params, body }) {
      return { status: 200, body: { webhook: await rotateWebhookSecret(runtime, caller, params.webhook_id, body) } };
    },
    async resumeWebhook({ caller, params }) {
      return { status: 200, body: { webhook: await resumeWebhook(runtime, caller, params.webhook_id) } };
    },
    async testWebhook({ caller, params }) {
      return { status: 202, body: { delivery: await testWebhook(runtime, caller, params.webhook_id) } };
    },
    async listWebhookHealth({ caller, query }) {
      return { status: 200, body: { health: await listWebhookHealth(runtime, caller, query) } };
    },
    async listDeliveries({ caller, query }) {
      return { status: 200, body: await listDeliveries(runtime, caller, query) };
    },
    async replayDeliveries({ caller, params, query, body }) {
      return { status: 202, body: await replayDeliveries(runtime, caller, params.webhook_id, body, query) };
    },
    async deleteWebhook({ caller, params }) {
      await deleteWebhook(runtime, caller, params.webhook_id);
      return { status: 204 };
    },
    async listFailedDeliveries({ caller, query }) {
      return { status: 200, body: await listFailedDeliveries(runtime, caller, query) };
    },
    async retryDelivery({ caller, params, idempotency_key }) {
      const { response, replayed } = await retryDelivery(runtime, caller, params.delivery_id, idempotency_key);
      return answerOnce(replayed, { status: 202, body: { delivery: response } });
    },
    async retryFailedDeliveries({ caller, query }) {
      return { status: 202, body: await retryFailedDeliveries(runtime, caller, query) };
    },
  };
}
