import { eventTypeNames, eventTypes, type Webhook } from "@countersign/contract";

export const sentTypes = eventTypeNames.filter((name) => eventTypes[name].sent);

export const isOfAll = ({ event_types }: Webhook) => event_types.length >= eventTypeNames.length;
