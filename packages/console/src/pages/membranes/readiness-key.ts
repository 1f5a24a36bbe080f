export const readinessKey = (membrane_id: string) => ["readiness", membrane_id];
