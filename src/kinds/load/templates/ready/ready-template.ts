/**
 * A template that comes with the product, as a person would write it: `parseTemplate` reads it like
 * any other.
 */
export interface ReadyTemplate {
  readonly template_id: string;
  readonly template_name: string;
  readonly description: string;
  readonly target: object | string;
  readonly workload: object;
  readonly scaling?: object;
  readonly slos?: readonly unknown[];
}
