import { Redis } from "ioredis";
import type { Log } from "../../ports.ts";
import { look_script, refund_script, take_script } from "./rate-windows-redis-scripts.ts";

export type Reply = [allowed: number, counted: number, freeing_ms: number, at_ms: number, now_ms: number];

type Scripts = Redis & {
  rateTake(times: string, counts: string, limit: number, now: string, until: string): Promise<Reply>;
  rateLook(times: string, counts: string, limit: number, now: string): Promise<Reply>;
  rateRefund(times: string, counts: string, limit: number, now: string, at: string): Promise<Reply>;
};

/** A client that reconnects by itself. */
export interface RedisConnection {
  readonly redis: Scripts;
  /** Returns why there is no connection, such as a wrong password. */
  reason(): string;
}

/** Connects without waiting for the connection. */
export function connectRedis(url: string, log: Log): RedisConnection {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    connectTimeout: 1_000,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(attempt * 50, 1_000),
    // A failover made this server a replica without ending connections. The address now leads to the primary.
    reconnectOnError: ({ message }) => message.includes("READONLY"),
  }) as Scripts;
  redis.defineCommand("rateTake", { numberOfKeys: 2, lua: take_script });
  redis.defineCommand("rateLook", { numberOfKeys: 2, lua: look_script });
  redis.defineCommand("rateRefund", { numberOfKeys: 2, lua: refund_script });
  let reason = "not connected";
  redis.on("error", ({ message, command }: Error & { readonly command?: { readonly name: string } }) => {
    // Logs only the message, because the failed command may contain the password.
    if (command?.name === "select") {
      // NOAUTH follows from a wrong password, which is already reported. After other errors the client uses database 0.
      if (!message.startsWith("NOAUTH"))
        log.error(
          { reason: message },
          "rate limits are counted in redis' database 0, because redis refuses the database of REDIS_URL",
        );
      return;
    }
    reason = `not connected: ${message}`;
    log.debug({ reason }, "redis connection failed");
  });
  return { redis, reason: () => reason };
}
