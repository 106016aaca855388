/**
 * Checks an object against the schemas that Kubernetes, KEDA and the Prometheus operator publish
 * (npm's kubernetes-models: their OpenAPI documents and CRDs, compiled to functions).
 *
 * Those functions let fields pass that a schema does not know, which is how a misspelt
 * `readinesProbe` stays unnoticed. But they read every field that it does know: so the object is
 * shown to them through proxies that remember what was read, and a field that nobody asked for is
 * one that does not exist.
 */
import { ScaledObject, TriggerAuthentication } from "@kubernetes-models/keda/keda.sh/v1alpha1";
import { PodMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1";
import { Deployment, StatefulSet } from "kubernetes-models/apps/v1";
import { HorizontalPodAutoscaler } from "kubernetes-models/autoscaling/v2";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1";
import { ConfigMap, Namespace, PersistentVolumeClaim, Secret, Service } from "kubernetes-models/v1";

interface Model {
  readonly apiVersion: string;
  readonly kind: string;
  readonly prototype: { validate(): void };
}

const models: readonly Model[] = [
  ConfigMap,
  Deployment,
  HorizontalPodAutoscaler,
  Namespace,
  NetworkPolicy,
  PersistentVolumeClaim,
  PodDisruptionBudget,
  PodMonitor,
  ScaledObject,
  Secret,
  Service,
  StatefulSet,
  TriggerAuthentication,
];

/** The problems; empty when there are none. */
export function checkPublished(body: unknown): readonly string[] {
  const { apiVersion, kind } = body as { apiVersion?: unknown; kind?: unknown };
  const model = models.find((each) => each.apiVersion === apiVersion && each.kind === kind);
  if (model === undefined) return [`no schema is known for ${apiVersion} ${kind}`];
  return checkWith((shown) => model.prototype.validate.call(shown), body);
}

/** With a function that throws what is wrong with what it is shown. */
export function checkWith(
  validate: (shown: { validate(): void }) => void,
  body: unknown,
): readonly string[] {
  const read = new Map<object, Set<string>>();
  const shown = observe(body, read) as { validate(): void };
  try {
    validate(shown);
  } catch (thrown) {
    return [thrown instanceof Error ? thrown.message : String(thrown)];
  }
  return unreadFields(body, read, "");
}

function observe(value: unknown, read: Map<object, Set<string>>): unknown {
  if (typeof value !== "object" || value === null) return value;
  return new Proxy(value, {
    get(target, key) {
      const found: unknown = Reflect.get(target, key);
      if (typeof key !== "string") return found;
      const keys = read.get(target) ?? new Set();
      read.set(target, keys.add(key));
      return observe(found, read);
    },
  });
}

/** An object of which nothing was read has no schema of its own: everything is allowed in it. */
function unreadFields(
  value: unknown,
  read: Map<object, Set<string>>,
  path: string,
): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const keys = read.get(value);
  if (keys === undefined) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const here = `${path}/${key}`;
    return keys.has(key) ? unreadFields(inner, read, here) : [`${here}: there is no such field`];
  });
}
