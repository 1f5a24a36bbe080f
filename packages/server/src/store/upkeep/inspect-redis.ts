/** Returns the version of the Redis or Valkey behind this URL. Rejects if it does not answer within 2 s. */
export async function inspectRedis(url: string): Promise<string> {
  // In the built program, a CommonJS library that is imported dynamically has its names only in `default`.
  const { default: library } = await import("ioredis");
  const redis = new library.Redis(url, {
    lazyConnect: true,
    connectTimeout: 2_000,
    commandTimeout: 2_000,
    retryStrategy: () => null,
  });
  let reason: unknown;
  redis.on("error", (error) => {
    reason = error; // More precise than "Connection is closed."
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
