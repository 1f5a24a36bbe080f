/** Returns the version of Redis or Valkey. Rejects if it does not answer within 2 s. */
export async function inspectRedis(url: string): Promise<string> {
  // The built program has the names of a dynamically imported CommonJS library only in `default`.
  const { default: library } = await import("ioredis");
  const redis = new library.Redis(url, {
    lazyConnect: true,
    connectTimeout: 2_000,
    commandTimeout: 2_000,
    retryStrategy: () => null,
  });
  let reason: unknown;
  redis.on("error", (error) => {
    reason = error; // more precise than "Connection is closed."
  });
  try {
    await redis.connect();
    return /^(?:valkey|redis)_version:(\S+)/m.exec(await redis.info("server"))?.[1] ?? "unknown version";
  } catch (error) {
    throw reason ?? error;
  } finally {
    redis.disconnect();
  }
}
