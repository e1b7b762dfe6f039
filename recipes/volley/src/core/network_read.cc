// From the tables of a network file to a Network: every key checked, every mistake with its line.
#include <cmath>
#include <cstdlib>

#include "error.h"
#include "network.h"
#include "toml.h"

namespace volley {

float decay_factor(double dt, double tau) { return static_cast<float>(std::exp(-dt / tau)); }

namespace {

[[noreturn]] void fail_at(const std::string &name, int line, const std::string &what) {
  throw invalid(name + ":" + std::to_string(line) + ": " + what);
}

// A table whose keys are asked for one by one; done() refuses what nobody asked for.
class Keys {
 public:
  Keys(const TomlValue &table, std::string where, std::string file)
      : table_(table), where_(std::move(where)), file_(std::move(file)) {}

  int line() const { return table_.line; }
  const TomlValue *find(const char *key) {
    known_.push_back(key);
    for (const TomlEntry &e : table_.entries)
      if (e.first == key) return &e.second;
    return nullptr;
  }
  const TomlValue &need(const char *key) {
    const TomlValue *v = find(key);
    if (!v) fail(table_.line, std::string("`") + key + "` is missing in " + where_);
    return *v;
  }
  double number(const TomlValue &v, const char *key) {
    if (!v.is_number()) fail(v.line, std::string("`") + key + "` must be a number, not " + v.kind_name());
    if (!std::isfinite(v.number) || std::fabs(v.number) > 1e9) fail(v.line, std::string("`") + key + "` is too large");
    return v.number;
  }
  double number(const char *key, double otherwise) {
    const TomlValue *v = find(key);
    return v ? number(*v, key) : otherwise;
  }
  double positive(const char *key, double otherwise) {
    const TomlValue *v = find(key);
    const double n = v ? number(*v, key) : otherwise;
    if (!(n > 0.0)) fail(v ? v->line : table_.line, std::string("`") + key + "` must be above 0");
    return n;
  }
  double not_negative(const char *key, double otherwise) {
    const TomlValue *v = find(key);
    const double n = v ? number(*v, key) : otherwise;
    if (n < 0.0) fail(v->line, std::string("`") + key + "` must not be negative");
    return n;
  }
  u32 count(const TomlValue &v, const char *key, int64_t low) {
    if (v.kind != TomlValue::Kind::Integer || v.integer < low || v.integer > 1000000000)
      fail(v.line, std::string("`") + key + "` must be a whole number from " + std::to_string(low) + " to 10^9");
    return static_cast<u32>(v.integer);
  }
  const std::string &text(const TomlValue &v, const char *key) {
    if (v.kind != TomlValue::Kind::String) fail(v.line, std::string("`") + key + "` must be a string, not " + v.kind_name());
    return v.text;
  }
  // A number or [low, high].
  std::pair<double, double> range(const TomlValue &v, const char *key) {
    if (v.is_number()) return {number(v, key), v.number};
    if (v.kind != TomlValue::Kind::Array || v.items.size() != 2)
      fail(v.line, std::string("`") + key + "` must be a number or [low, high]");
    const std::pair<double, double> r{number(v.items[0], key), number(v.items[1], key)};
    if (r.first > r.second) fail(v.line, std::string("`") + key + "`: the first value is above the second");
    return r;
  }
  Uniform uniform(const TomlValue &v, const char *key) {
    const std::pair<double, double> r = range(v, key);
    Uniform u;
    u.low = static_cast<float>(r.first);
    u.span = static_cast<float>(r.second) - u.low;
    return u;
  }
  void done() const {
    for (const TomlEntry &e : table_.entries) {
      bool seen = false;
      for (const std::string &k : known_) seen = seen || k == e.first;
      if (seen) continue;
      std::string all;
      for (const std::string &k : known_) all += (all.empty() ? "" : ", ") + k;
      fail(e.second.line, "unknown key `" + e.first + "` in " + where_ + " (known: " + all + ")");
    }
  }
  [[noreturn]] void fail(int line, const std::string &what) const { fail_at(file_, line, what); }

 private:
  const TomlValue &table_;
  std::string where_, file_;
  std::vector<std::string> known_;
};

u32 whole_steps(const Keys &keys, int line, double ms, double dt, const char *what) {
  const double steps = std::floor(ms / dt + 0.5);
  if (steps > 4e9) keys.fail(line, std::string(what) + " is too many steps");
  return static_cast<u32>(steps);
}

bool identifier(const std::string &s) {
  if (s.empty() || (s[0] >= '0' && s[0] <= '9')) return false;
  for (char c : s)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')) return false;
  return true;
}

// A parameter is a number, or "decay(TAU)" for exp(-dt / TAU) as the built-in model computes it.
float parameter(Keys &keys, const TomlEntry &e, double dt) {
  const TomlValue &v = e.second;
  if (v.kind != TomlValue::Kind::String) return static_cast<float>(keys.number(v, e.first.c_str()));
  char *end = nullptr;
  if (v.text.compare(0, 6, "decay(") == 0) {
    const double tau = std::strtod(v.text.c_str() + 6, &end);
    if (end != v.text.c_str() + 6 && std::string(end) == ")" && tau > 0.0) return decay_factor(dt, tau);
  }
  keys.fail(v.line, "parameter `" + e.first + "` must be a number or \"decay(TAU)\" with TAU in ms above 0");
}

Model read_model(Keys &keys, double dt) {
  Model m;
  m.name = keys.text(keys.need("name"), "name");
  if (!identifier(m.name)) keys.fail(keys.line(), "a model's name must be a C identifier, not `" + m.name + "`");
  if (m.name == "lif") keys.fail(keys.line(), "`lif` is the built-in model; choose another name");
  const TomlValue &states = keys.need("state");
  if (states.kind != TomlValue::Kind::Array || states.items.empty() || states.items.size() > 256)
    keys.fail(states.line, "`state` must be an array of 1 to 256 names");
  for (const TomlValue &s : states.items) m.states.push_back(keys.text(s, "state"));
  if (const TomlValue *p = keys.find("parameters")) {
    if (p->kind != TomlValue::Kind::Table) keys.fail(p->line, "`parameters` must be { name = value, ... }");
    for (const TomlEntry &e : p->entries) m.parameters.emplace_back(e.first, parameter(keys, e, dt));
  }
  for (const std::string &s : m.states)
    if (!identifier(s)) keys.fail(states.line, "state `" + s + "` is not a C identifier");
  for (const auto &p : m.parameters)
    if (!identifier(p.first)) keys.fail(keys.line(), "parameter `" + p.first + "` is not a C identifier");
  m.update = keys.text(keys.need("update"), "update");
  m.threshold = keys.text(keys.need("threshold"), "threshold");
  m.reset = keys.text(keys.need("reset"), "reset");
  keys.done();
  return m;
}

// Poisson counts per step by inversion. The tail beyond VOLLEY_DRIVE_LEVELS is cut, so the mean has a limit.
VolleyDrive read_drive(Keys &keys, double dt, const std::string &file) {
  VolleyDrive drive{};
  const TomlValue *v = keys.find("drive");
  if (!v) return drive;
  if (v->kind != TomlValue::Kind::Table) keys.fail(v->line, "`drive` must be { rate = spikes/s, weight = mV }");
  Keys inner(*v, "drive", file);
  const double rate = inner.not_negative("rate", 0.0);
  drive.weight = static_cast<float>(inner.number(inner.need("weight"), "weight"));
  inner.done();
  const double mean = rate * dt / 1000.0;
  if (mean > 4.0)
    keys.fail(v->line, "drive of " + std::to_string(rate) + " spikes/s is more than 4 events per step; use a smaller dt");
  if (mean == 0.0) return drive;
  double term = std::exp(-mean), sum = 0.0;
  for (u32 k = 0; k < VOLLEY_DRIVE_LEVELS; ++k) {
    sum += term;
    const double scaled = std::floor(sum * 4294967296.0);
    if (scaled >= 4294967295.0) break;
    drive.cdf[drive.levels++] = static_cast<u32>(scaled);
    term = term * mean / static_cast<double>(k + 1);
  }
  return drive;
}

void read_lif(Keys &keys, Population &p, double dt) {
  const double rest = keys.number("v_rest", -65.0) + keys.number("current", 0.0);
  p.lif.v_rest = static_cast<float>(rest);
  p.lif.v_reset = static_cast<float>(keys.number("v_reset", -65.0));
  p.lif.v_threshold = static_cast<float>(keys.number("v_threshold", -50.0));
  if (!(p.lif.v_reset < p.lif.v_threshold)) keys.fail(keys.line(), "`v_reset` must be below `v_threshold`");
  p.lif.decay_m = decay_factor(dt, keys.positive("tau_m", 20.0));
  p.lif.decay_exc = decay_factor(dt, keys.positive("tau_syn_exc", 5.0));
  p.lif.decay_inh = decay_factor(dt, keys.positive("tau_syn_inh", 10.0));
  p.lif.refractory = whole_steps(keys, keys.line(), keys.not_negative("refractory", 2.0), dt, "`refractory`");
  const TomlValue *init = keys.find("v_init");
  Uniform u;
  u.low = p.lif.v_reset;
  p.init.push_back(init ? keys.uniform(*init, "v_init") : u);
}

void read_user(Keys &keys, Population &p, const Model &model, double dt, const std::string &file) {
  p.parameters = model.parameters;
  if (const TomlValue *v = keys.find("parameters")) {
    if (v->kind != TomlValue::Kind::Table) keys.fail(v->line, "`parameters` must be { name = value, ... }");
    for (const TomlEntry &e : v->entries) {
      bool found = false;
      for (auto &own : p.parameters)
        if (own.first == e.first) {
          own.second = parameter(keys, e, dt);
          found = true;
        }
      if (!found) keys.fail(e.second.line, "model `" + model.name + "` has no parameter `" + e.first + "`");
    }
  }
  p.init.assign(model.states.size(), Uniform());
  if (const TomlValue *v = keys.find("init")) {
    if (v->kind != TomlValue::Kind::Table) keys.fail(v->line, "`init` must be { state = number or [low, high], ... }");
    Keys inner(*v, "init", file);
    for (size_t s = 0; s < model.states.size(); ++s)
      if (const TomlValue *x = inner.find(model.states[s].c_str()))
        p.init[s] = inner.uniform(*x, model.states[s].c_str());
    inner.done();
  }
}

Population read_population(Keys &keys, const Network &net, const std::string &file) {
  Population p;
  const TomlValue &name = keys.need("name");
  p.name = keys.text(name, "name");
  if (!identifier(p.name)) keys.fail(name.line, "a population's name must be letters, digits and _, not `" + p.name + "`");
  for (const Population &other : net.populations)
    if (other.name == p.name) keys.fail(name.line, "population `" + p.name + "` is already defined");
  p.size = keys.count(keys.need("size"), "size", 1);
  const TomlValue *model = keys.find("model");
  const std::string wanted = model ? keys.text(*model, "model") : "lif";
  p.drive = p.lif.drive = read_drive(keys, net.dt, file);
  if (wanted == "lif") {
    read_lif(keys, p, net.dt);
  } else {
    std::string all = "lif";
    for (size_t m = 0; m < net.models.size(); ++m) {
      all += ", " + net.models[m].name;
      if (net.models[m].name == wanted) p.model = static_cast<int>(m);
    }
    if (p.model < 0) keys.fail(model->line, "unknown model `" + wanted + "` (known: " + all + ")");
    read_user(keys, p, net.models[static_cast<size_t>(p.model)], net.dt, file);
  }
  keys.done();
  p.first = net.slots;
  return p;
}

u32 read_end(Keys &keys, const char *key, const Network &net) {
  const TomlValue &v = keys.need(key);
  const std::string &name = keys.text(v, key);
  for (size_t p = 0; p < net.populations.size(); ++p)
    if (net.populations[p].name == name) return static_cast<u32>(p);
  keys.fail(v.line, "unknown population `" + name + "`");
}

Projection read_projection(Keys &keys, const Network &net) {
  Projection j;
  j.from = read_end(keys, "from", net);
  j.to = read_end(keys, "to", net);
  const TomlValue *indegree = keys.find("indegree"), *probability = keys.find("probability");
  if (!indegree == !probability) keys.fail(keys.line(), "a projection needs either `indegree` or `probability`");
  j.fixed_indegree = indegree != nullptr;
  if (indegree) {
    j.indegree = keys.count(*indegree, "indegree", 0);
  } else {
    const double p = keys.number(*probability, "probability");
    if (p < 0.0 || p > 1.0) keys.fail(probability->line, "`probability` must lie from 0 to 1");
    j.threshold = static_cast<u64>(std::floor(p * 4294967296.0));
  }
  const TomlValue &weight = keys.need("weight");
  const std::pair<double, double> w = keys.range(weight, "weight");
  if (w.first < 0.0 && w.second > 0.0)
    keys.fail(weight.line, "`weight` must not cross 0: its sign chooses the receptor");
  if (std::fabs(w.first) > 1e6 || std::fabs(w.second) > 1e6) keys.fail(weight.line, "`weight` is above 10^6 mV");
  j.weight = keys.uniform(weight, "weight");
  const TomlValue *delay = keys.find("delay");
  if (delay) {
    const std::pair<double, double> d = keys.range(*delay, "delay");
    if (d.first < 0.0) keys.fail(delay->line, "`delay` must not be negative");
    j.delay_min = whole_steps(keys, delay->line, d.first, net.dt, "`delay`");
    j.delay_max = whole_steps(keys, delay->line, d.second, net.dt, "`delay`");
    if (j.delay_min < 1) keys.fail(delay->line, "`delay` must be at least one step (dt)");
    if (j.delay_max > 65535) keys.fail(delay->line, "`delay` must be below 65,536 steps");
  }
  keys.done();
  return j;
}

}  // namespace

Network read_network(const std::string &text, const std::string &name) {
  const std::vector<TomlSection> sections = parse_toml(text, name);
  Network net;
  net.name = name;
  const TomlSection *simulation = nullptr;
  for (const TomlSection &s : sections) {
    const bool one = s.name == "simulation";
    const bool many = s.name == "population" || s.name == "projection" || s.name == "model";
    if (!one && !many)
      fail_at(name, s.line, "unknown table `" + s.name + "` (known: simulation, population, projection, model)");
    if (one && s.array) fail_at(name, s.line, "write [simulation], there is only one");
    if (many && !s.array) fail_at(name, s.line, "write [[" + s.name + "]]");
    if (one) simulation = &s;
  }
  if (!simulation) fail_at(name, 1, "[simulation] is missing");
  {
    Keys keys(simulation->table, "[simulation]", name);
    net.dt = keys.positive("dt", 0.1);
    keys.need("duration");
    net.steps = whole_steps(keys, keys.line(), keys.positive("duration", 1.0), net.dt, "`duration`");
    if (const TomlValue *seed = keys.find("seed")) {
      if (seed->kind != TomlValue::Kind::Integer || seed->integer < 0)
        keys.fail(seed->line, "`seed` must be a whole number from 0 to 2^63 - 1");
      net.seed = static_cast<u64>(seed->integer);
    }
    keys.done();
  }
  for (const TomlSection &s : sections) {
    if (s.name != "model") continue;
    Keys keys(s.table, "[[model]]", name);
    Model m = read_model(keys, net.dt);
    for (const Model &other : net.models)
      if (other.name == m.name) fail_at(name, s.line, "model `" + m.name + "` is already defined");
    net.models.push_back(std::move(m));
  }
  for (const TomlSection &s : sections) {
    if (s.name != "population") continue;
    Keys keys(s.table, "[[population]]", name);
    net.populations.push_back(read_population(keys, net, name));
    const u64 slots = net.slots + (static_cast<u64>(net.populations.back().size) + 31) / 32 * 32;
    if (slots > 2000000000u) fail_at(name, s.line, "the network has more than 2 * 10^9 neurons");
    net.slots = static_cast<u32>(slots);
  }
  if (net.populations.empty()) fail_at(name, 1, "a network needs at least one [[population]]");
  for (const TomlSection &s : sections) {
    if (s.name != "projection") continue;
    Keys keys(s.table, "[[projection]]", name);
    net.projections.push_back(read_projection(keys, net));
    if (net.projections.back().delay_max > net.max_delay) net.max_delay = net.projections.back().delay_max;
  }
  return net;
}

}  // namespace volley
