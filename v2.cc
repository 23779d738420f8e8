#include <iostream>
#include <vector>
#include <map>
#include <string>
#include <algorithm>
#include <regex>
#include <thread>
#include <memory>
#include <coroutine>
#include <stdexcept>
#include <functional>
#include <future>
#include <sstream>
struct A{ virtual ~A(){} virtual int f(int)=0; int pad[3]; }; struct B{ virtual ~B(){} virtual int g(int); int z=3; }; int B::g(int x){ return x+z; }
struct D: A, virtual B { int f(int x) override { if(x>5) throw std::runtime_error("f"); return x; } int g(int x) override { return x*2+z; } ~D() override; }; D::~D(){ z=0; }
struct Guard{ int&r; Guard(int&x):r(x){} ~Guard(){ r++; } };
static int n; 
__attribute__((noinline)) int thr(int d){ Guard g(n); if(!d) throw std::string("deep"); return thr(d-1)+1; }
__attribute__((noinline)) int mid(int d){ try { return thr(d); } catch(int) { return 1; } }
__attribute__((noinline)) int re(int d){ try { try { return mid(d);} catch(std::string&s){ n+=s.size(); throw; } } catch(...) { n++; return 5; } }
struct Task{ struct promise_type{ int v; Task get_return_object(){return {std::coroutine_handle<promise_type>::from_promise(*this)};} std::suspend_always initial_suspend(){return{};} std::suspend_always final_suspend()noexcept{return{};} std::suspend_always yield_value(int x){v=x;return{};} void return_void(){} void unhandled_exception(){ throw; } }; std::coroutine_handle<promise_type> h; ~Task(){h.destroy();} };
Task gen(int k){ Guard g(n); for(int i=0;i<k;i++) co_yield i*i; if(k==3) throw 4; }
int main(){ std::vector<int> v; for(int i=0;i<50;i++) v.push_back(i*37%53); std::sort(v.begin(),v.end()); std::stable_sort(v.begin(),v.end(),std::greater<>()); std::map<std::string,int> m; for(int x:v) m["k"+std::to_string(x)]=x; 
 D d; A*a=&d; B*b=&d; n+=a->f(2)+b->g(3); try{ a->f(9);}catch(std::exception&e){ std::cout<<e.what()<<"\n"; }
 n+=re(3); try{ auto t=gen(3); while(!t.h.done()){ t.h.resume(); n+=t.h.promise().v; } }catch(int x){ n+=x; }
 std::regex r("(a+)(b*)c"); std::smatch s; std::string z="xaabbc"; n+=std::regex_search(z,s,r);
 std::thread t([]{ try{ thr(1);}catch(...){ n++; } }); t.join();
 auto f=std::async(std::launch::async,[]{ return mid(1),3; }); try{ f.get(); }catch(std::string&s){ n+=7; }
 std::function<int(int)> fn=[&](int q){ return q<2?1:q*fn(q-1); }; n+=fn(5); auto sp=std::make_shared<D>(); std::weak_ptr<D> w=sp; try{ v.at(99); }catch(std::out_of_range&){ n++; }
 std::ostringstream os; os<<n<<' '<<1.5<<std::hex<<255; std::cout<<os.str()<<std::endl; try { std::stoi("zz"); } catch(std::invalid_argument&){} try{ std::rethrow_exception(std::make_exception_ptr(3)); }catch(int){} return 0; }
