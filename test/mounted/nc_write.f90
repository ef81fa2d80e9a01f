! nc_write.f90: a slab of t, and a record behind the last
program records
  use netcdf
  implicit none
  character(4096) :: name
  integer :: file, t, time, d, n
  real :: plane(30, 20, 1)
  double precision :: day(1)
  call get_command_argument(1, name)
  call check(nf90_open(trim(name), nf90_write, file))
  call check(nf90_inq_varid(file, "t", t))
  call check(nf90_inq_varid(file, "time", time))
  call check(nf90_inq_dimid(file, "time", d))
  call check(nf90_inquire_dimension(file, d, len=n))
  plane = -5.5
  day = 99
  call check(nf90_put_var(file, t, plane(1:10, 1:5, :), start=[3, 4, 2], count=[10, 5, 1]))
  call check(nf90_put_var(file, t, plane, start=[1, 1, n + 1], count=[30, 20, 1]))
  call check(nf90_put_var(file, time, day, start=[n + 1], count=[1]))
  call check(nf90_close(file))
contains
  subroutine check(status)
    integer :: status
    if (status /= nf90_noerr) then
      print *, nf90_strerror(status)
      stop 1
    end if
  end subroutine
end program
