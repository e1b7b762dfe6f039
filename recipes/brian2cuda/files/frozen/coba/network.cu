
#include "brianlib/cuda_utils.h"
#include "objects.h"
#include "network.h"
#include <stdlib.h>
#include <iostream>
#include <chrono>
#include <ctime>
#include <utility>
#include <stdio.h>
#include <assert.h>

#define Clock_epsilon 1e-14

double Network::_last_run_time = 0.0;
double Network::_last_run_completed_fraction = 0.0;
bool Network::_globally_stopped = false;
bool Network::_globally_running = false;

Network::Network()
{
    t = 0.0;
}

void Network::clear()
{
    objects.clear();
}

void Network::add(BaseClock* clock, codeobj_func func)
{
#if defined(_MSC_VER) && (_MSC_VER>=1700)
    objects.push_back(std::make_pair(std::move(clock), std::move(func)));
#else
    objects.push_back(std::make_pair(clock, func));
#endif
}

void Network::run(const double duration, void (*report_func)(const double, const double, const double, const double), const double report_period)
{
    std::chrono::time_point<std::chrono::high_resolution_clock> start, current;
    const double t_start = t;
    const double t_end = t + duration;
    double next_report_time = report_period;
    // compute the set of clocks
    compute_clocks();
    // set interval for all clocks

    for(std::set<BaseClock*>::iterator i=clocks.begin(); i!=clocks.end(); i++)
        (*i)->set_interval(t, t_end);

    start = std::chrono::high_resolution_clock::now();
    if (report_func)
    {
        report_func(0.0, 0.0, t_start, duration);
    }

    BaseClock* clock = next_clocks();
    double elapsed_realtime;
    bool did_break_early = false;

    Network::_globally_running = true;
    Network::_globally_stopped = false;
    while(clock && clock->running() && !Network::_globally_stopped)
    {
        t = clock->t[0];

        for(int i=0; i<objects.size(); i++)
        {
            if (report_func)
            {
                current = std::chrono::high_resolution_clock::now();
                const double elapsed = std::chrono::duration<double>(current - start).count();
                if (elapsed > next_report_time)
                {
                    report_func(elapsed, (clock->t[0]-t_start)/duration, t_start, duration);
                    next_report_time += report_period;
                }
            }
            BaseClock *obj_clock = objects[i].first;
            // Only execute the object if it uses the right clock for this step
            if (curclocks.find(obj_clock) != curclocks.end())
            {
                codeobj_func func = objects[i].second;
                if (func)  // code objects can be NULL in cases where we store just the clock
                {
                    func();
                }
            }
        }
        for(std::set<BaseClock*>::iterator i=curclocks.begin(); i!=curclocks.end(); i++)
            (*i)->tick();
        clock = next_clocks();

        // Advance index for circular eventspace vector (for no_or_const_delay_mode)
        brian::current_idx_array_neurons__spikespace = (brian::current_idx_array_neurons__spikespace + 1) % brian::dev_array_neurons__spikespace.size();


    }
    Network::_globally_running = false;

    current = std::chrono::high_resolution_clock::now();
    elapsed_realtime = std::chrono::duration<double>(current - start).count();    

    if(!did_break_early && !Network::_globally_stopped)
        t = t_end;
    else
        t = clock->t[0];

    _last_run_time = elapsed_realtime;
    if(duration>0)
    {
        _last_run_completed_fraction = (t-t_start)/duration;
    } else {
        _last_run_completed_fraction = 1.0;
    }
    if (report_func)
    {
        report_func(elapsed_realtime, _last_run_completed_fraction, t_start, duration);
    }
}

void Network::compute_clocks()
{
    clocks.clear();
    for(int i=0; i<objects.size(); i++)
    {
        BaseClock *clock = objects[i].first;
        clocks.insert(clock);
    }
}

BaseClock* Network::next_clocks()
{
    // find minclock, clock with smallest t value
    BaseClock *minclock = *clocks.begin();
    if (!minclock) // empty list of clocks
        return NULL;

    for(std::set<BaseClock*>::iterator i=clocks.begin(); i!=clocks.end(); i++)
    {
        BaseClock *clock = *i;
        if(clock->t[0]<minclock->t[0])
            minclock = clock;
    }
    // find set of equal clocks
    curclocks.clear();

    double t = minclock->t[0];
    for(std::set<BaseClock*>::iterator i=clocks.begin(); i!=clocks.end(); i++)
    {
        BaseClock *clock = *i;
        double s = clock->t[0];
        if(s==t || fabs(s-t)<=Clock_epsilon)
            curclocks.insert(clock);
    }
    return minclock;
}

