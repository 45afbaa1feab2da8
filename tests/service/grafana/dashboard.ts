// SPDX-License-Identifier: Apache-2.0
import type { Dashboard, Panel, FieldConfigSource, FieldConfig } from './node_modules/@grafana/schema/dist/types/raw/dashboard/x/types.gen';
import type { Options, FieldConfig as Custom } from './node_modules/@grafana/schema/dist/types/raw/composable/timeseries/panelcfg/x/types.gen';
import type { VizLegendOptions, VizTooltipOptions } from '@grafana/schema';

interface Defaults extends Omit<FieldConfig, 'custom'> { custom?: Partial<Custom> }
interface Config extends Omit<FieldConfigSource, 'defaults'> { defaults: Defaults }
/** A query of the Prometheus data source. */
interface Query { refId: string; expr: string; legendFormat?: string; datasource: { type: 'prometheus'; uid: string } }
interface Drawn extends Partial<Omit<Options, 'legend' | 'tooltip'>> { legend: Partial<VizLegendOptions>; tooltip: Partial<VizTooltipOptions> }
interface TimeSeriesPanel extends Omit<Panel, 'type' | 'options' | 'fieldConfig' | 'targets'> {
  type: 'timeseries'; options: Drawn; fieldConfig: Config; targets: Query[];
}
/** A dashboard as it is shared: what is asked for when it is loaded stands beside it. */
export interface SharedDashboard extends Omit<Dashboard, 'panels'> {
  panels: TimeSeriesPanel[];
  __inputs: { name: string; label: string; type: 'datasource'; pluginId: string; pluginName: string }[];
  __requires: { type: string; id: string; name: string; version: string }[];
}
