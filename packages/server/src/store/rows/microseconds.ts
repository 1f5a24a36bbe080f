/** Returns SQL for a time in microseconds since the Unix epoch. */
export const microseconds = (time: string): string => `(extract(epoch from ${time}) * 1000000)::bigint`;
