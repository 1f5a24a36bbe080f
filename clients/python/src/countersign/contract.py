"""Types of requests and answers. Written by `npm run gen` from packages/contract. Do not change this file."""

from typing import Any, Dict, List, Literal, TypedDict, Union


class _AgentRequired(TypedDict):
    id: str


class Agent(_AgentRequired, total=False):
    framework: str
    session_id: str
    on_behalf_of: str
    parent: str


class Target(TypedDict, total=False):
    type: str
    identifier: str
    sensitivity: Literal["public", "internal", "confidential", "restricted"]


class _ActionRequired(TypedDict):
    verb: str


class Action(_ActionRequired, total=False):
    type: str
    target: Target


class IntentPayload(TypedDict, total=False):
    summary: str
    content: Dict[str, Any]


class IntentEstimatedImpact(TypedDict, total=False):
    reversible: bool
    financial_exposure_usd: float
    audience_size: int
    regulatory_domains: List[str]


class _IntentRequired(TypedDict):
    agent: Agent
    action: Action


class Intent(_IntentRequired, total=False):
    payload: IntentPayload
    estimated_impact: IntentEstimatedImpact
    data_classes: List[str]


class ContextDocumentFacts(TypedDict, total=False):
    environmental: Dict[str, Any]
    entity_state: Dict[str, Any]
    regulatory: Dict[str, Any]
    organizational: Dict[str, Any]
    identity: Dict[str, Any]
    security: Dict[str, Any]


class ContextDocumentAsOf(TypedDict, total=False):
    environmental: str
    entity_state: str
    regulatory: str
    organizational: str
    identity: str
    security: str


class _ContextDocumentRequired(TypedDict):
    contract_version: Literal["1"]
    facts: ContextDocumentFacts


class ContextDocument(_ContextDocumentRequired, total=False):
    as_of: ContextDocumentAsOf


class _IntentSubmissionRequired(TypedDict):
    intent: Intent


class IntentSubmission(_IntentSubmissionRequired, total=False):
    context: ContextDocument
    membrane_id: str
    claim: Literal["required"]


class DecisionRiskContributions(TypedDict):
    source: str
    group: str
    value: float


class _ReasonUnknownFactsRequired(TypedDict):
    path: str
    reason: str


class ReasonUnknownFacts(_ReasonUnknownFactsRequired, total=False):
    assurance: Literal["reported", "attested", "stored", "pulled", "verified"]


class Reason(TypedDict):
    policy_id: Union[str, None]
    policy: str
    version: Union[int, None]
    effect: Literal["block", "escalate", "approve_modified", "none"]
    message: str
    citations: List[str]
    unknown_facts: List[ReasonUnknownFacts]


class _ModificationRequired(TypedDict):
    op: Literal["add", "remove", "replace"]
    path: str
    policy_id: Union[str, None]


class Modification(_ModificationRequired, total=False):
    value: Any


class _ApprovalChangeRequired(TypedDict):
    path: str
    op: Literal["at_most", "at_least", "equals", "present", "absent"]


class ApprovalChange(_ApprovalChangeRequired, total=False):
    value: Any


class DecisionPolicySet(TypedDict):
    version: int
    sha256: str


class Actor(TypedDict):
    type: Literal["key", "user", "system"]
    id: Union[str, None]


class Execution(TypedDict):
    status: Literal["none", "claimed", "executed", "failed", "skipped", "unknown", "handed_on", "revoked"]
    at: Union[str, None]
    by: Union[Actor, None]


class Erased(TypedDict):
    at: str
    by: str
    erasure_id: Union[str, None]


class _DecisionRequired(TypedDict):
    decision_id: str
    intent_id: str
    membrane_id: str
    agent_id: str
    verdict: Literal["approve", "approve_modified", "escalate", "block"]
    risk_score: float
    risk_contributions: List[DecisionRiskContributions]
    pipeline_mode: Literal["live", "shadow", "test"]
    enforced: bool
    outcome: Union[Literal["approve", "approve_modified", "block"], None]
    status: Literal["pending", "final"]
    reasons: List[Reason]
    modifications: List[Modification]
    modified_content: Union[Dict[str, Any], None]
    would_approve_if: Union[List[ApprovalChange], None]
    human_override_id: Union[str, None]
    escalation_id: Union[str, None]
    escalation_status: Union[Literal["pending", "decided", "timed_out", "cancelled"], None]
    valid_until: Union[str, None]
    policy_set: DecisionPolicySet
    timestamp: str


class Decision(_DecisionRequired, total=False):
    message_to_agent: str
    approval_expires_at: str
    resumed_from: str
    grant_id: str
    claim: Literal["required"]
    execution: Execution
    erased: Erased


class SubmitAnswer(TypedDict):
    intent_id: str
    decision: Decision


class _BatchItemRequired(TypedDict):
    intent: Intent


class BatchItem(_BatchItemRequired, total=False):
    context: ContextDocument
    membrane_id: str
    claim: Literal["required"]
    idempotency_key: str


class _BatchResultRequired(TypedDict):
    success: Literal[True]
    intent_id: str
    decision: Decision


class BatchResult(_BatchResultRequired, total=False):
    replayed: bool


class BatchResult1Error(TypedDict):
    code: str
    message: str
    details: List[Dict[str, Any]]
    request_id: str


class BatchResult1(TypedDict):
    success: Literal[False]
    error: BatchResult1Error


class BatchAnswer(TypedDict):
    results: List[Union[BatchResult, BatchResult1]]
    total: int
    succeeded: int
    failed: int


class Observation(TypedDict):
    observation_id: str
    intent_id: str
    status: Literal["executed", "failed", "skipped"]
    detail: Union[str, Dict[str, Any], None]
    recorded_by: Actor
    recorded_at: str


class EventBody(TypedDict):
    data: Dict[str, Any]
    decision_id: Union[str, None]
    escalation_id: Union[str, None]
    escalation_status: Union[Literal["pending", "decided", "timed_out", "cancelled"], None]
    event_type: str
    intent_id: Union[str, None]
    observation_id: Union[str, None]
    organization_id: str
    pattern_id: Union[str, None]
    policy_id: Union[str, None]
    timestamp: str
    webhook_id: str


class IntentRecordPayload(TypedDict, total=False):
    summary: str
    content: Dict[str, Any]


class IntentRecordEstimatedImpact(TypedDict, total=False):
    reversible: bool
    financial_exposure_usd: float
    audience_size: int
    regulatory_domains: List[str]


class IntentRecordDecidedAs(TypedDict):
    type: str
    data_classes: List[str]


class _IntentRecordRequired(TypedDict):
    intent_id: str
    membrane_id: str
    pipeline_mode: Literal["live", "shadow", "test"]
    agent: Agent
    action: Action
    decided_as: IntentRecordDecidedAs
    withheld: List[str]
    masked: List[str]
    submitted_by: Actor
    submitted_at: str


class IntentRecord(_IntentRecordRequired, total=False):
    payload: IntentRecordPayload
    estimated_impact: IntentRecordEstimatedImpact
    data_classes: List[str]
    erased: Erased


class UsedFacts(TypedDict, total=False):
    environmental: Dict[str, Any]
    entity_state: Dict[str, Any]
    regulatory: Dict[str, Any]
    organizational: Dict[str, Any]
    identity: Dict[str, Any]
    security: Dict[str, Any]


class IntentAnswerAncestors(TypedDict):
    agent_id: str
    source: Literal["token", "register", "submitted"]


class _IntentAnswerRequired(TypedDict):
    intent: IntentRecord
    facts: UsedFacts
    decision: Decision


class IntentAnswer(_IntentAnswerRequired, total=False):
    ancestors: List[IntentAnswerAncestors]
