/**
 * Metrics as OpenMetrics text, the only format that carries exemplars. prom-client's own writer
 * renames its counters permanently, which makes the plain text wrong afterwards.
 */

export const openMetricsContentType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

export interface MetricSample {
  /** The family's name when absent. */
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  readonly value: number;
  readonly exemplar?: Exemplar | null | undefined;
}

export interface Exemplar {
  readonly labelSet: Readonly<Record<string, string | number | undefined>>;
  readonly value: number;
  /** Seconds since 1970. */
  readonly timestamp: number;
}

export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  /** `counter`, `gauge`, `histogram` or `summary`. */
  readonly type: string;
  readonly values: readonly MetricSample[];
}

export function formatOpenMetrics(
  families: readonly MetricFamily[],
  commonLabels: Readonly<Record<string, string>>,
): string {
  const lines = families.flatMap((family) => formatFamily(family, commonLabels));
  return `${lines.join("\n")}\n# EOF\n`;
}

function formatFamily(
  { name, help, type, values }: MetricFamily,
  commonLabels: Readonly<Record<string, string>>,
): readonly string[] {
  const isCounter = type === "counter";
  const familyName = isCounter ? name.replace(/_total$/, "") : name;
  const samples = values.map((sample) => {
    const sampleName = isCounter ? `${familyName}_total` : (sample.metricName ?? name);
    const labels = formatLabels({ ...commonLabels, ...sample.labels });
    return `${sampleName}${labels} ${formatNumber(sample.value)}${formatExemplar(sample.exemplar)}`;
  });
  return [`# HELP ${familyName} ${escapeText(help)}`, `# TYPE ${familyName} ${type}`, ...samples];
}

function formatExemplar(exemplar: Exemplar | null | undefined): string {
  if (exemplar === null || exemplar === undefined) return "";
  const labels = formatLabels(exemplar.labelSet);
  return ` # ${labels === "" ? "{}" : labels} ${formatNumber(exemplar.value)} ${exemplar.timestamp}`;
}

function formatLabels(labels: Readonly<Record<string, string | number | undefined>>): string {
  const parts = Object.entries(labels).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${escapeText(String(value))}"`],
  );
  return parts.length === 0 ? "" : `{${parts.join(",")}}`;
}

function formatNumber(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  return String(value);
}

function escapeText(text: string): string {
  return text.replace(/[\\\n"]/g, (each) => (each === "\n" ? "\\n" : `\\${each}`));
}

/** Whether an `Accept` header prefers OpenMetrics to plain text. */
export function prefersOpenMetrics(accept: string | undefined): boolean {
  const weights = new Map<string, number>();
  for (const range of (accept ?? "").split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
    weights.set(type, Math.max(weights.get(type) ?? 0, Number(weight ?? 1) || 0));
  }
  const open = weights.get("application/openmetrics-text") ?? 0;
  return open > 0 && open >= (weights.get("text/plain") ?? 0);
}
