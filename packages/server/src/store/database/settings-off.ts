/** Without these a crash of the machine can lose decisions that were answered; a session sees to everything else that this needs. */
const forDurability = ["fsync", "full_page_writes"];
/** Without these nothing that was deleted or changed is ever cleared away. */
const forVacuum = ["autovacuum", "track_counts"];

/** SQL: the names of those that are off, as text[]. */
const off = (settings: readonly string[]): string =>
  `array(select name from unnest('{${settings}}'::text[]) as name where current_setting(name) = 'off')`;

/** SQL for a select list: the settings of the server that are off and should not be, as `unsafe` and `unvacuumed`. */
export const settings_off: string = `${off(forDurability)} as unsafe, ${off(forVacuum)} as unvacuumed`;
